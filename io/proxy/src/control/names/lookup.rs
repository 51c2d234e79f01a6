//! Lookups of names in /etc/hosts and DNS.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::Arc;
use std::time::Duration;

use hickory_resolver::Hosts;
use hickory_resolver::proto::op::Query;
use hickory_resolver::proto::rr::{Name, RData, RecordType};
use tokio::sync::Semaphore;
use weir_config::plan::ResolverPlan;

use super::servers::{DnsServers, Part, addresses};

/// Maximum number of addresses per name. Each may become a server with its own checks, so one DNS answer must
/// not create thousands.
pub(super) const ADDRESSES_MAX: usize = 64;

/// Maximum number of concurrent lookups; each needs one or two sockets.
const QUESTIONS_MAX: usize = 64;

/// Resolver that reads /etc/hosts and asks DNS servers for all other names.
#[derive(Clone)]
pub(in crate::control) struct Resolver {
    hosts: Arc<Hosts>,
    /// DNS servers; `None` = there are none.
    servers: Option<DnsServers>,
    /// Permits for concurrent lookups.
    permits: Arc<Semaphore>,
    ttl_min: Duration,
    ttl_max: Duration,
}

/// All addresses of one name, in ascending order, so that answers can be compared.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(in crate::control) struct Answer {
    four: Vec<Ipv4Addr>,
    six: Vec<Ipv6Addr>,
}

/// Result of one lookup.
#[derive(Debug)]
pub(in crate::control) struct Found {
    pub(in crate::control) answer: Answer,
    /// Addresses beyond [`ADDRESSES_MAX`].
    pub(in crate::control) left_out: Vec<IpAddr>,
    /// Wait before the next lookup.
    pub(in crate::control) ttl: Duration,
    /// Error of one address family, whose last addresses stay in use.
    pub(in crate::control) doubt: Option<String>,
}

impl Resolver {
    /// Reads /etc/hosts, and /etc/resolv.conf unless the plan names servers. The second value is the reason
    /// why there is no DNS server, if there is none. Blocks on the disk.
    pub(in crate::control) fn new(plan: &ResolverPlan) -> (Self, Option<String>) {
        let (servers, trouble) = match DnsServers::new(plan) {
            Ok(servers) => (Some(servers), None),
            Err(why) => (None, Some(why)),
        };
        let resolver = Self {
            // Without the file, DNS alone resolves names.
            hosts: Arc::new(Hosts::from_system().unwrap_or_default()),
            servers,
            permits: Arc::new(Semaphore::new(QUESTIONS_MAX)),
            ttl_min: plan.ttl_min.duration(),
            ttl_max: plan.ttl_max.duration(),
        };
        (resolver, trouble)
    }

    /// Looks up both address families of `host`. `last` is the previous answer.
    pub(in crate::control) async fn ask(&self, host: &str, last: &Answer) -> Result<Found, String> {
        if let Some((answer, left_out)) = self.in_hosts(host) {
            return Ok(Found { answer, left_out, ttl: self.ttl_max, doubt: None });
        }
        let Some(servers) = &self.servers else { return Err("there is no DNS server to ask".to_owned()) };
        let Ok(_permit) = self.permits.acquire().await else {
            return Err("the process is stopping".to_owned());
        };
        let mut why_not = "it is not a DNS name".to_owned();
        // Both families use the same full name; otherwise they could come from two domains of the search
        // list.
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
            let ttl = self.not_too_soon(expires).min(self.ttl_max);
            let (answer, left_out) = Answer::new(four, six);
            return Ok(Found { answer, left_out, ttl, doubt });
        }
        Err(why_not)
    }

    /// Returns the addresses in /etc/hosts. A name in that file is not looked up in DNS, even if the file has
    /// one family only.
    fn in_hosts(&self, host: &str) -> Option<(Answer, Vec<IpAddr>)> {
        let name = Name::from_utf8(host).ok()?;
        let found = |kind| self.hosts.lookup_static_host(&Query::query(name.clone(), kind));
        let (a, aaaa) = (found(RecordType::A), found(RecordType::AAAA));
        let (answer, left_out) = Answer::new(
            a.iter().flat_map(|lookup| addresses(lookup, four)).collect(),
            aaaa.iter().flat_map(|lookup| addresses(lookup, six)).collect(),
        );
        (!answer.is_empty()).then_some((answer, left_out))
    }

    /// Returns `pause`, or the minimum time that an answer is used if that is longer.
    pub(in crate::control) fn not_too_soon(&self, pause: Duration) -> Duration {
        pause.max(self.ttl_min.min(self.ttl_max))
    }

    /// Returns the wait before the next lookup after `failures` failures in a row.
    pub(in crate::control) fn retry_after(&self, failures: u32) -> Duration {
        const FIRST: Duration = Duration::from_secs(1);
        const LAST: Duration = Duration::from_secs(30);
        FIRST.saturating_mul(1 << failures.saturating_sub(1).min(5)).min(LAST).min(self.ttl_max.max(FIRST))
    }
}

impl Answer {
    /// Returns the lowest [`ADDRESSES_MAX`] of these addresses in any order, and the rest. Each family gets
    /// at least half of the slots if it needs them.
    fn new(mut four: Vec<Ipv4Addr>, mut six: Vec<Ipv6Addr>) -> (Self, Vec<IpAddr>) {
        const HALF: usize = ADDRESSES_MAX / 2;
        four.sort_unstable();
        four.dedup();
        six.sort_unstable();
        six.dedup();
        let keep_four = four.len().min(ADDRESSES_MAX - six.len().min(HALF));
        let keep_six = six.len().min(ADDRESSES_MAX - keep_four);
        let no_four = four.split_off(keep_four).into_iter().map(IpAddr::V4);
        let no_six = six.split_off(keep_six).into_iter().map(IpAddr::V6);
        let left_out = no_four.chain(no_six).collect();
        (Self { four, six }, left_out)
    }

    /// Returns the number of addresses.
    pub(in crate::control) fn len(&self) -> usize {
        self.four.len() + self.six.len()
    }

    /// Returns true if there is no address.
    pub(in crate::control) fn is_empty(&self) -> bool {
        self.four.is_empty() && self.six.is_empty()
    }

    /// Returns true if the addresses are several servers. One address of each family counts as one host.
    pub(in crate::control) fn is_several(&self) -> bool {
        self.four.len() > 1 || self.six.len() > 1
    }

    /// Returns all addresses, IPv4 first, in ascending order.
    pub(in crate::control) fn all(&self) -> impl Iterator<Item = IpAddr> {
        self.four.iter().copied().map(IpAddr::V4).chain(self.six.iter().copied().map(IpAddr::V6))
    }

    pub(super) fn has(&self, ip: IpAddr) -> bool {
        match ip {
            IpAddr::V4(ip) => self.four.binary_search(&ip).is_ok(),
            IpAddr::V6(ip) => self.six.binary_search(&ip).is_ok(),
        }
    }

    /// Adds `others`, which must not be in the answer yet, up to the maximum.
    pub(super) fn with(mut self, others: impl Iterator<Item = IpAddr>) -> Self {
        for ip in others.take(ADDRESSES_MAX.saturating_sub(self.len())) {
            match ip {
                IpAddr::V4(ip) => self.four.push(ip),
                IpAddr::V6(ip) => self.six.push(ip),
            }
        }
        self.four.sort_unstable();
        self.six.sort_unstable();
        self
    }

    /// Returns all addresses, alternating between the families. If one family is unreachable, the next
    /// attempt uses the other (RFC 8305 section 4).
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_family_keeps_half_of_the_addresses_and_what_the_other_one_leaves() {
        // Addresses per family: given (IPv4, IPv6), and used.
        for (four, six, used) in [
            (64, 0, (64, 0)),
            (70, 0, (64, 0)),
            (0, 70, (0, 64)),
            (40, 24, (40, 24)),
            (70, 3, (61, 3)),
            (3, 70, (3, 61)),
            (40, 40, (32, 32)),
        ] {
            let (answer, left_out) = Answer::new(
                (0..four).rev().map(Ipv4Addr::from_bits).collect(),
                (0..six).rev().map(|at| Ipv6Addr::from_bits(at.into())).collect(),
            );
            assert_eq!((answer.four.len(), answer.six.len()), used, "of {four} and {six}");
            assert_eq!(answer.len() + left_out.len(), (four + six) as usize);
            assert!(answer.four.iter().zip(0..).all(|(address, at)| *address == Ipv4Addr::from_bits(at)));
        }
    }
}
