use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::Arc;
use std::time::Duration;

use hickory_resolver::Hosts;
use hickory_resolver::proto::op::Query;
use hickory_resolver::proto::rr::{Name, RData, RecordType};
use tokio::sync::Semaphore;
use weir_config::plan::ResolverPlan;

use super::servers::{DnsServers, Part, addresses};

/// Each question needs a socket or two.
const QUESTIONS_MAX: usize = 64;

/// Asks /etc/hosts, and DNS servers for what is not in there.
#[derive(Clone)]
pub(in crate::control) struct Resolver {
    hosts: Arc<Hosts>,
    /// `None` = there is no DNS server to ask.
    servers: Option<DnsServers>,
    /// Questions under way at a time.
    permits: Arc<Semaphore>,
    ttl_min: Duration,
    ttl_max: Duration,
}

/// Every address of one name, in ascending order, so that two answers compare.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(in crate::control) struct Answer {
    four: Vec<Ipv4Addr>,
    six: Vec<Ipv6Addr>,
}

/// What asking once came to.
#[derive(Debug)]
pub(in crate::control) struct Found {
    pub(in crate::control) answer: Answer,
    /// To be asked for again after this long.
    pub(in crate::control) ttl: Duration,
    /// What went wrong with one of the address families, whose last answer is kept.
    pub(in crate::control) doubt: Option<String>,
}

impl Resolver {
    /// Reads /etc/hosts, and /etc/resolv.conf unless the plan names servers. If there is no DNS server to ask, that is
    /// told besides. Blocks on the disk.
    pub(in crate::control) fn new(plan: &ResolverPlan) -> (Self, Option<String>) {
        let (servers, trouble) = match DnsServers::new(plan) {
            Ok(servers) => (Some(servers), None),
            Err(why) => (None, Some(why)),
        };
        let resolver = Self {
            // Without the file, names are what DNS says.
            hosts: Arc::new(Hosts::from_system().unwrap_or_default()),
            servers,
            permits: Arc::new(Semaphore::new(QUESTIONS_MAX)),
            ttl_min: plan.ttl_min.duration(),
            ttl_max: plan.ttl_max.duration(),
        };
        (resolver, trouble)
    }

    /// Asks for both address families of `host`. `last` is what was known before.
    pub(in crate::control) async fn ask(&self, host: &str, last: &Answer) -> Result<Found, String> {
        if let Some(answer) = self.in_hosts(host) {
            return Ok(Found { answer, ttl: self.ttl_max, doubt: None });
        }
        let Some(servers) = &self.servers else { return Err("there is no DNS server to ask".to_owned()) };
        let Ok(_permit) = self.permits.acquire().await else {
            return Err("the process is stopping".to_owned());
        };
        let mut why_not = "it is not a DNS name".to_owned();
        // Both families of one full name: each for itself, they could come from two domains of the search list.
        for name in servers.candidates(host) {
            let (four, six) = tokio::join!(
                servers.part(&name, RecordType::A, four),
                servers.part(&name, RecordType::AAAA, six)
            );
            let (four, six, expires, doubt) = match (four, six) {
                (Part::Addresses(four, a), Part::Addresses(six, b)) => (four, six, a.min(b), None),
                (Part::Addresses(four, a), Part::None(_)) => (four, Vec::new(), a, None),
                (Part::None(_), Part::Addresses(six, a)) => (Vec::new(), six, a, None),
                (Part::Addresses(four, a), Part::Failed(why)) => (four, last.six.clone(), a, Some(why)),
                (Part::Failed(why), Part::Addresses(six, a)) => (last.four.clone(), six, a, Some(why)),
                (Part::Failed(why), _) | (_, Part::Failed(why)) => return Err(why),
                (Part::None(why), Part::None(_)) => {
                    why_not = why;
                    continue;
                }
            };
            let ttl = expires.clamp(self.ttl_min.min(self.ttl_max), self.ttl_max);
            return Ok(Found { answer: Answer::new(four, six), ttl, doubt });
        }
        Err(why_not)
    }

    /// What /etc/hosts says; a name that is in there, were it with one family only, is not asked for elsewhere.
    fn in_hosts(&self, host: &str) -> Option<Answer> {
        let name = Name::from_utf8(host).ok()?;
        let found = |kind| self.hosts.lookup_static_host(&Query::query(name.clone(), kind));
        let (a, aaaa) = (found(RecordType::A), found(RecordType::AAAA));
        let answer = Answer::new(
            a.iter().flat_map(|lookup| addresses(lookup, four)).collect(),
            aaaa.iter().flat_map(|lookup| addresses(lookup, six)).collect(),
        );
        (!answer.is_empty()).then_some(answer)
    }

    /// When to ask for a name again that could not be found, the `failures`th time in a row.
    pub(in crate::control) fn retry_after(&self, failures: u32) -> Duration {
        const FIRST: Duration = Duration::from_secs(1);
        const LAST: Duration = Duration::from_secs(30);
        FIRST.saturating_mul(1 << failures.saturating_sub(1).min(5)).min(LAST).min(self.ttl_max.max(FIRST))
    }
}

impl Answer {
    fn new(mut four: Vec<Ipv4Addr>, mut six: Vec<Ipv6Addr>) -> Self {
        four.sort_unstable();
        four.dedup();
        six.sort_unstable();
        six.dedup();
        Self { four, six }
    }

    /// Whether no address is known.
    pub(in crate::control) fn is_empty(&self) -> bool {
        self.four.is_empty() && self.six.is_empty()
    }

    /// The addresses that are servers of their own; empty if all of them are one server: a host with one address of each family has
    /// two ways to itself.
    pub(in crate::control) fn servers(&self) -> Vec<IpAddr> {
        match self.four.len() > 1 || self.six.len() > 1 {
            true => self
                .four
                .iter()
                .copied()
                .map(IpAddr::V4)
                .chain(self.six.iter().copied().map(IpAddr::V6))
                .collect(),
            false => Vec::new(),
        }
    }

    /// Every address, the families by turns: where one of them leads nowhere, the next attempt is the other's (RFC 8305
    /// section 4).
    pub(in crate::control) fn addresses(&self) -> impl Iterator<Item = IpAddr> {
        let at = |place| {
            let (four, six) = (self.four.get(place), self.six.get(place));
            four.copied().map(IpAddr::V4).into_iter().chain(six.copied().map(IpAddr::V6))
        };
        (0..self.four.len().max(self.six.len())).flat_map(at)
    }
}

impl std::fmt::Debug for Resolver {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Resolver").field("ttl_min", &self.ttl_min).field("ttl_max", &self.ttl_max).finish()
    }
}

fn four(data: &RData) -> Option<Ipv4Addr> {
    match data {
        RData::A(address) => Some(address.0),
        _ => None,
    }
}

fn six(data: &RData) -> Option<Ipv6Addr> {
    match data {
        RData::AAAA(address) => Some(address.0),
        _ => None,
    }
}
