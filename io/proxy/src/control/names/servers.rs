//! DNS servers and the search list.

use std::time::{Duration, Instant};

use hickory_resolver::TokioResolver;
use hickory_resolver::config::{
    ConnectionConfig, NameServerConfig, ResolveHosts, ResolverConfig, ResolverOpts,
};
use hickory_resolver::lookup::Lookup;
use hickory_resolver::net::NetError;
use hickory_resolver::net::runtime::TokioRuntimeProvider;
use hickory_resolver::proto::rr::{Name, RData, RecordType};
use hickory_resolver::system_conf::read_system_conf;
use weir_config::plan::ResolverPlan;

/// DNS servers, with the rules that complete short names.
#[derive(Clone)]
pub(super) struct DnsServers {
    resolver: TokioResolver,
    search: Vec<Name>,
    /// Number of dots from which a name is tried as it is before the search list (resolv.conf(5)).
    ndots: usize,
}

/// Result of one DNS query.
pub(super) enum Part<T> {
    /// At least one address, and the time that they are valid.
    Addresses(Vec<T>, Duration),
    /// The name has no address of that kind, or does not exist.
    None(String),
    /// The query failed, so the addresses are unknown.
    Failed(String),
}

impl DnsServers {
    /// Reads /etc/resolv.conf unless the plan names servers. With servers from the plan, there is no search
    /// list.
    pub(super) fn new(plan: &ResolverPlan) -> Result<Self, String> {
        let (config, mut options) = match plan.servers.is_empty() {
            true => read_system_conf().map_err(|error| format!("/etc/resolv.conf: {error}"))?,
            false => (named(plan), ResolverOpts::default()),
        };
        options.timeout = plan.timeout.duration();
        options.use_hosts_file = ResolveHosts::Never;
        // `NameBook` caches answers with its own rules for age; a second cache would only make them older.
        options.cache_size = 0;
        let ndots = options.ndots;
        let search = config.domain().into_iter().chain(config.search()).cloned().collect();
        let builder = TokioResolver::builder_with_config(config, TokioRuntimeProvider::default());
        let resolver = builder.with_options(options).build().map_err(|error| error.to_string())?;
        Ok(Self { resolver, search, ndots })
    }

    /// Returns the full names that `host` may mean, the most likely first.
    pub(super) fn candidates(&self, host: &str) -> Vec<Name> {
        let Ok(name) = Name::from_utf8(host) else { return Vec::new() };
        let mut full = name.clone();
        full.set_fqdn(true);
        let mut candidates = Vec::with_capacity(1 + self.search.len());
        // Skips names that would be too long.
        candidates.extend(self.search.iter().filter_map(|domain| name.clone().append_domain(domain).ok()));
        candidates.dedup();
        let dots = usize::from(name.num_labels()).saturating_sub(1);
        let place = if dots >= self.ndots { 0 } else { candidates.len() };
        candidates.insert(place, full);
        candidates
    }

    /// Queries one record type of a full name.
    pub(super) async fn part<T>(
        &self,
        name: &Name,
        kind: RecordType,
        pick: fn(&RData) -> Option<T>,
    ) -> Part<T> {
        match self.resolver.lookup(name.clone(), kind).await {
            Ok(lookup) => {
                let addresses = addresses(&lookup, pick);
                match addresses.is_empty() {
                    true => Part::None("it has no address".to_owned()),
                    false => Part::Addresses(addresses, time_left(&lookup)),
                }
            }
            Err(error) if error.is_nx_domain() => Part::None("no such name".to_owned()),
            Err(error) if error.is_no_records_found() => Part::None("it has no address".to_owned()),
            Err(NetError::Timeout) => Part::Failed("the DNS servers do not answer".to_owned()),
            Err(error) => Part::Failed(error.to_string()),
        }
    }
}

/// Returns the addresses of one kind in an answer.
pub(super) fn addresses<T>(lookup: &Lookup, pick: fn(&RData) -> Option<T>) -> Vec<T> {
    lookup.answers().iter().filter_map(|record| pick(&record.data)).collect()
}

fn named(plan: &ResolverPlan) -> ResolverConfig {
    let servers = plan.servers.iter().map(|address| {
        let with_port = |mut connection: ConnectionConfig| {
            connection.port = address.port();
            connection
        };
        // TCP for answers that do not fit into a datagram.
        let connections = vec![with_port(ConnectionConfig::udp()), with_port(ConnectionConfig::tcp())];
        NameServerConfig::new(address.ip(), true, connections)
    });
    ResolverConfig::from_parts(None, Vec::new(), servers.collect())
}

fn time_left(lookup: &Lookup) -> Duration {
    lookup.valid_until().saturating_duration_since(Instant::now())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_name_is_looked_for_in_the_search_list_before_it_is_taken_as_full() {
        let servers = DnsServers {
            resolver: TokioResolver::builder_with_config(
                ResolverConfig::from_parts(None, Vec::new(), Vec::new()),
                TokioRuntimeProvider::default(),
            )
            .build()
            .unwrap(),
            search: ["a.test.", "b.test."].map(|domain| Name::from_utf8(domain).unwrap()).to_vec(),
            ndots: 1,
        };
        let names = |host: &str| -> Vec<String> {
            servers.candidates(host).iter().map(ToString::to_string).collect()
        };
        assert_eq!(names("web"), ["web.a.test.", "web.b.test.", "web."]);
        assert_eq!(names("web.site"), ["web.site.", "web.site.a.test.", "web.site.b.test."]);
        assert!(names("web.site").iter().all(|name| name.ends_with('.')));
    }
}
