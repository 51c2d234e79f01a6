//! Names of other products' algorithms and their equivalents in Weir.

use crate::Algorithm;

/// An algorithm of another product and its equivalent in Weir.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Counterpart {
    /// Its name in that product.
    pub(crate) theirs: &'static str,
    /// Algorithms with the same formula, or the nearest ones; empty = there is none.
    pub(crate) here: &'static [Algorithm],
    /// Options to set, and differences; empty = neither.
    pub(crate) note: &'static str,
}

const fn is(theirs: &'static str, here: &'static [Algorithm], note: &'static str) -> Counterpart {
    Counterpart { theirs, here, note }
}

/// Algorithms of other products, by product.
pub(crate) const COUNTERPARTS: [(&str, &[Counterpart]); 4] =
    [("HAProxy", HAPROXY), ("NGINX", NGINX), ("IPVS", IPVS), ("Envoy", ENVOY)];

const HAPROXY: &[Counterpart] = &[
    is("roundrobin", &[Algorithm::RoundRobin], "as many turns in a round, in another order"),
    is("static-rr", &[Algorithm::StaticRr], ""),
    is("leastconn", &[Algorithm::LeastConnections], ""),
    is("first", &[Algorithm::First], ""),
    is("random(draws)", &[Algorithm::Random], "ties go to the first drawn"),
    is("source", &[Algorithm::Source], ""),
    is(
        "uri, url_param, hdr, rdp-cookie, hash",
        &[Algorithm::Hash],
        "`key`; bodies (check_post) are not read",
    ),
    is(
        "any of these with hash-type consistent",
        &[Algorithm::Ring],
        "`points = \"position\"`; without `points` as with hash-key addr-port",
    ),
    is(
        "hash-key id, id32, guid, addr, addr-port",
        &[Algorithm::Ring],
        "`points = \"position\"`, `\"id32\"`, `\"name\"`, `\"host\"`, `\"address\"`; `\"id\"` for releases of 3.0 to 3.2 from before October 2025",
    ),
    is(
        "hash-type's functions sdbm, djb2, wt6, crc32, none; avalanche",
        &[Algorithm::Hash, Algorithm::Ring],
        "`function`, `avalanche`",
    ),
    is("hash-balance-factor", &[Algorithm::Ring, Algorithm::Random], "`bounded-load`"),
    is(
        "hash-preserve-affinity",
        &[Algorithm::Source, Algorithm::Hash, Algorithm::Ring],
        "`always`: `fallback = false`; `maxqueue`: with `queue.max-per-server`; `maxconn`: without it",
    ),
    is("log-hash, sticky", &[], "logs are no protocol here"),
];

const NGINX: &[Counterpart] = &[
    is("(none: weighted round robin)", &[Algorithm::RoundRobin], ""),
    is(
        "least_conn",
        &[Algorithm::IpvsWlc, Algorithm::LeastConnections],
        "`ipvs-wlc` has its formula, but of equals takes the first; `least-connections` takes turns, but counts the new request, too: the same where weights are equal",
    ),
    is(
        "least_time header, last_byte, inflight",
        &[Algorithm::LeastResponseTime],
        "`until`, `inflight`; of equals the one chosen longest ago",
    ),
    is("ip_hash", &[Algorithm::NginxIpHash], ""),
    is("hash KEY", &[Algorithm::NginxHash], ""),
    is("hash KEY consistent", &[Algorithm::Ketama], ""),
    is("random", &[Algorithm::Random], "`draws = 1`"),
    is("random two least_conn", &[Algorithm::Random], "`distinct = true`; ties go to the first drawn"),
    is("random two least_time", &[Algorithm::LeastResponseTime], "`drawn = 2`"),
];

const IPVS: &[Counterpart] = &[
    is("rr", &[Algorithm::IpvsRr], "each worker has a sequence of its own"),
    is("wrr", &[Algorithm::IpvsWrr], "the same; it goes on after a change"),
    is("lc", &[Algorithm::IpvsLc], ""),
    is("wlc", &[Algorithm::IpvsWlc], ""),
    is("sed", &[Algorithm::Sed], ""),
    is("nq", &[Algorithm::Nq], ""),
    is("fo", &[Algorithm::Failover], ""),
    is("ovf", &[Algorithm::Overflow], "who finds everybody full is not refused"),
    is("twos", &[Algorithm::IpvsTwos], ""),
    is("sh", &[Algorithm::IpvsSh], "sh-fallback unless `fallback = false`; `port`"),
    is("dh", &[Algorithm::IpvsDh], "`fallback = false`; without it another server is sought"),
    is(
        "mh",
        &[Algorithm::IpvsMh],
        "the table of 4,093 places; mh-fallback unless `fallback = false`; `port`",
    ),
    is("lblc", &[Algorithm::Lblc], ""),
    is("lblcr", &[Algorithm::Lblcr], ""),
];

const ENVOY: &[Counterpart] = &[
    is("round_robin", &[Algorithm::RoundRobin], "the same shares, in another order"),
    is("least_request", &[Algorithm::LeastRequest], "`choices`, `bias`"),
    is(
        "least_request with FULL_SCAN",
        &[Algorithm::LeastConnections],
        "with equal weights; of equals the one chosen longest ago, not any",
    ),
    is("random", &[Algorithm::Random], "`draws = 1`"),
    is("ring_hash", &[Algorithm::Ketama, Algorithm::Ring], "other points, as many for a unit of weight"),
    is("maglev", &[Algorithm::Maglev], "`table-size`; other places"),
    is("peak_ewma", &[Algorithm::PeakEwma], "weights count"),
    is("rendezvous_hash", &[Algorithm::Rendezvous], "other hashes"),
    is(
        "client_side_weighted_round_robin",
        &[Algorithm::RoundRobin],
        "with `agent` or `weight = \"auto\"` in place of reports",
    ),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whatever_comes_from_one_of_them_is_found_under_its_name() {
        for (product, theirs) in COUNTERPARTS {
            for algorithm in Algorithm::ALL.iter().filter(|one| one.entry().origin.starts_with(product)) {
                assert!(theirs.iter().any(|one| one.here.contains(algorithm)), "{product}: {algorithm}");
            }
        }
    }
}
