//! The texts about each algorithm that `weir algorithms` and the reference print.

use crate::Algorithm;

/// Description of one algorithm, printed by `weir algorithms`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AlgorithmEntry {
    /// The algorithm described.
    pub algorithm: Algorithm,
    /// Product or paper that the formula comes from.
    pub origin: &'static str,
    /// The formula, and where Weir differs from its origin.
    pub formula: &'static str,
    /// Situations that the algorithm suits.
    pub when_to_use: &'static str,
    /// Cost of a pick, n being the number of servers.
    pub cost: &'static str,
}

/// Every algorithm, in the order of [`Algorithm::ALL`].
pub const ALGORITHMS: [AlgorithmEntry; Algorithm::ALL.len()] = [
    AlgorithmEntry {
        algorithm: Algorithm::RoundRobin,
        origin: "NGINX (the default method, smooth weighted round robin)",
        formula: "Each pick: every server's counter grows by its weight; the highest counter is picked, the first \
                  of equals; the sum of all weights is taken off it. Each worker has its own sequence and its own \
                  place to start. A server that is busy or has just failed the request loses its turn. (NGINX also lowers a \
                  server's weight with each failure, and raises it by 1 with each turn: here a server that goes on failing is ejected, and \
                  with slow-start comes back little by little.) Where parts of weights count and make more than 256 different ones, a \
                  server is due again 1 / weight after its last turn, and who is due first is next. (HAProxy's roundrobin gives each \
                  server as many turns of a round, in an order of its own.)",
        when_to_use: "Requests of similar cost on servers of known speed; traffic that must follow the weights \
                      exactly.",
        cost: "O(1): the different weights are looked at, 256 at most; of more, by parts of weights, O(log n)",
    },
    AlgorithmEntry {
        algorithm: Algorithm::StaticRr,
        origin: "HAProxy (static-rr)",
        formula: "A sequence fixed in advance, in which each server stands as often as it weighs, filled as HAProxy fills it: \
                  place by place, every server's score grows by its weight, the first of those with the most whole totals \
                  in their score gets the place, and the total is taken off it. A change of weights makes a new sequence.",
        when_to_use: "Where the sequence must be HAProxy's; otherwise round-robin spreads the heavy servers more evenly.",
        cost: "O(1)",
    },
    AlgorithmEntry {
        algorithm: Algorithm::IpvsRr,
        origin: "IPVS (rr)",
        formula: "One server after the other in the pool's order, whatever they weigh; weight 0 takes none. Each worker starts at a \
                  server of its own, and after a change of servers goes on behind the one that it chose last (IPVS: one sequence for all).",
        when_to_use: "Where weights must not count; otherwise round-robin.",
        cost: "O(1)",
    },
    AlgorithmEntry {
        algorithm: Algorithm::IpvsWrr,
        origin: "IPVS (wrr)",
        formula: "A threshold falls from the highest weight by the greatest common divisor of all weights; in each pass every \
                  server that weighs at least the threshold is chosen once, in order. A heavy server's requests come in a \
                  row at the start of the sequence. Each worker starts at a place of its own, and after a change of servers or weights \
                  goes on where it was, or with many changes the last servers would starve (IPVS: one sequence, which goes back to the first server).",
        when_to_use: "Where the sequence must be the kernel's; otherwise round-robin.",
        cost: "O(1)",
    },
    AlgorithmEntry {
        algorithm: Algorithm::LeastConnections,
        origin: "HAProxy (leastconn)",
        formula: "The smallest key of: 0 if idle, else (active + 1) * 4096 / (16 * weight), rounded down. Of equal \
                  keys the one chosen longest ago (HAProxy: the one whose key changed longest ago, be it by a request's end). NGINX's \
                  least_conn goes by active / weight, as ipvs-wlc does, of equals by smooth weighted round robin.",
        when_to_use: "The default. Requests of unequal cost, servers of unequal or changing speed, long connections.",
        cost: "O(log n), shared by all workers without locks",
    },
    AlgorithmEntry {
        algorithm: Algorithm::IpvsLc,
        origin: "IPVS (lc)",
        formula: "The smallest active * 256 + inactive; of equals the first in the pool. The weight counts only in that 0 \
                  gets nothing. Every connection that a proxy knows is active.",
        when_to_use: "Equal servers, where the choice must be the kernel's; otherwise least-connections, which takes turns.",
        cost: "O(log n), shared by all workers without locks",
    },
    AlgorithmEntry {
        algorithm: Algorithm::IpvsWlc,
        origin: "IPVS (wlc)",
        formula: "The smallest (active * 256 + inactive) / weight; of equals the first in the pool: an idle pool always starts \
                  with the first. Every connection that a proxy knows is active.",
        when_to_use: "Where the choice must be the kernel's; otherwise least-connections, which takes turns.",
        cost: "O(log n), shared by all workers without locks",
    },
    AlgorithmEntry {
        algorithm: Algorithm::Sed,
        origin: "IPVS (sed, shortest expected delay)",
        formula: "The smallest (active + 1) / weight; of equals the first in the pool. A heavy server gets several requests \
                  before a light idle one gets its first.",
        when_to_use: "Servers of very unequal speed and few, long requests: a slow server should idle while a fast one is \
                      expected to be done sooner.",
        cost: "O(log n), shared by all workers without locks",
    },
    AlgorithmEntry {
        algorithm: Algorithm::Nq,
        origin: "IPVS (nq, never queue)",
        formula: "The first idle server if there is one, else the smallest (active + 1) / weight; of equals the first in the \
                  pool.",
        when_to_use: "As sed, where no server should idle while another one has work waiting.",
        cost: "O(log n), shared by all workers without locks",
    },
    AlgorithmEntry {
        algorithm: Algorithm::First,
        origin: "HAProxy (first)",
        formula: "The first server in the pool that is below its maximum of connections; weights do not count.",
        when_to_use: "Filling servers one after the other, so that the last ones can be switched off. Needs max-connections on \
                      the servers.",
        cost: "O(log n), shared by all workers without locks",
    },
    AlgorithmEntry {
        algorithm: Algorithm::Failover,
        origin: "IPVS (fo, weighted failover)",
        formula: "The highest weight of all servers that are up and have room; of equals the first in the pool.",
        when_to_use: "One server works, the others stand by in the order of their weights.",
        cost: "O(log n), shared by all workers without locks",
    },
    AlgorithmEntry {
        algorithm: Algorithm::Overflow,
        origin: "IPVS (ovf, weighted overflow)",
        formula: "The highest weight of all servers with active <= weight; of equals the first in the pool. If every server has \
                  more, the smallest active / weight (IPVS: nobody).",
        when_to_use: "Filling the preferred server up to a number of requests, its weight, before the next is used.",
        cost: "O(log n), shared by all workers without locks",
    },
    AlgorithmEntry {
        algorithm: Algorithm::Random,
        origin: "HAProxy (random(draws)): the power of two choices",
        formula: "`draws` servers (2) are drawn at random by weight, independently, or with `distinct` each other than the one before (NGINX: \
                  random two); the lowest active / weight wins, the first of equals. (HAProxy draws from a consistent ring, and breaks ties by request rate.) With `bounded-load` \
                  a server that has its places is not drawn; see ring.",
        when_to_use: "Several balancers in front of the same servers, who do not know each other's load; servers \
                      that come and go.",
        cost: "O(draws * log n)",
    },
    AlgorithmEntry {
        algorithm: Algorithm::IpvsTwos,
        origin: "IPVS (twos, two weighted random choices)",
        formula: "Twice a number from 0 to the sum of the weights of all servers with room is drawn, both ends included; these weights are \
                  taken off it in the pool's order, and the server at which nothing is left is drawn: the first as if it weighed 1 more. \
                  The second wins if its (active * 256 + inactive) / weight is less. Every connection that a proxy knows is active.",
        when_to_use: "Where the choice must be the kernel's; otherwise random.",
        cost: "O(log n)",
    },
    AlgorithmEntry {
        algorithm: Algorithm::LeastRequest,
        origin: "Envoy (least request)",
        formula: "Where all weights are equal: `choices` servers (2) are drawn at random, the fewest active requests win, the \
                  first of equals. Where they differ, or with a `bias`: earliest deadline first, a server being due again \
                  (active + 1)^bias / weight after it was chosen, by the requests that it had then; the bias is 1 unless \
                  given. Each worker has its own schedule and its own place to start.",
        when_to_use: "As in Envoy, whose default among the dynamic ones it is; otherwise least-connections knows all servers' \
                      loads and needs no luck.",
        cost: "O(log n)",
    },
    AlgorithmEntry {
        algorithm: Algorithm::PeakEwma,
        origin: "Finagle (the average) and Envoy (the cost)",
        formula: "Two different servers are drawn at random by weight; the lower cost wins, the first of equals: round trip \
                  time * (active + 1) / weight. The time is from the request's last byte to the response's first, averaged: a \
                  slower one counts at once, a faster one pulls the average down by how long ago it last changed \
                  (e^(-t / `decay`), 10 s), and each look at it makes it fade likewise. Before the first answer it is `default-rtt` (10 ms), \
                  and the cost a million + active if there are requests. Failed requests are not measured. (In Envoy \
                  weights do not count, and nothing fades while a server is idle.)",
        when_to_use: "Servers whose speed changes, or that are differently far away: a slow one is avoided after one slow \
                      answer, and tried again soon.",
        cost: "O(log n)",
    },
    AlgorithmEntry {
        algorithm: Algorithm::LeastResponseTime,
        origin: "NGINX (least_time)",
        formula: "The smallest t * (active + 1) / weight, of equals the one chosen longest ago. t is the moving average (a new \
                  one counts 5 %) of the time until the response's head, or with `until = \"last-byte\"` its last byte, \
                  halved for each `forgive` (10 s) without a request; with `inflight` at least the average time that \
                  requests have been waiting; rounded up to the next 20 ms, above 5 s taken as 5 s. Failed requests are \
                  not measured. The time's effect on an idle server is worked out at least once in n picks; equal is what \
                  is equal to 24 binary digits. (NGINX: of equals the next in smooth weighted round robin.) With `drawn` only so many \
                  servers, drawn at random by weight, each other than the one before, are compared, the first of equals wins (NGINX: \
                  random two least_time).",
        when_to_use: "Servers of unequal speed whose answers are of one kind, so that their times can be compared.",
        cost: "O(log n), shared by all workers without locks",
    },
    AlgorithmEntry {
        algorithm: Algorithm::LeastBandwidth,
        origin: "NetScaler (least bandwidth)",
        formula: "The fewest bytes in both directions within the last 14 seconds, over the weight; of equals the one chosen \
                  longest ago. Bytes count as they move. That an idle server's bytes grow old is worked out at least once \
                  in n picks; equal is what is equal to 24 binary digits.",
        when_to_use: "Large transfers of unequal size, where the servers' network is what runs out.",
        cost: "O(log n), shared by all workers without locks",
    },
    AlgorithmEntry {
        algorithm: Algorithm::Source,
        origin: "HAProxy (source, hash-type map-based)",
        formula: "The client address's 32-bit words are XORed; the result modulo the sum of the usable servers' \
                  weights (their common divisor taken out) is a place in the weighted map, filled as HAProxy fills \
                  it. Most clients change servers when one comes or goes. A server that is busy or has just failed \
                  the request is passed over for the next in the map; with `fallback = false` the request waits for one that is \
                  busy (HAProxy: hash-preserve-affinity maxconn, and always, which is its default, respectively).",
        when_to_use: "Clients that should keep their server without cookies, where addresses are many and stable.",
        cost: "O(1)",
    },
    AlgorithmEntry {
        algorithm: Algorithm::Hash,
        origin: "HAProxy (uri, hdr, url_param, rdp-cookie and hash; hash-type map-based)",
        formula: "As source, by any `key`: its bytes are hashed by `function` (sdbm, djb2, wt6 or crc32, as HAProxy has them; or none: they are a number, its own hash), \
                  and mixed once more with `avalanche`. A request without the key goes to the next server in the map \
                  (HAProxy: the same). By the client's address it is source. `fallback` is as there.",
        when_to_use: "Requests for one thing at one server (caches: `key = \"uri\"`), where servers seldom change; otherwise ring.",
        cost: "O(1), and the length of the key",
    },
    AlgorithmEntry {
        algorithm: Algorithm::Ring,
        origin: "HAProxy (hash-type consistent; without options: source with avalanche)",
        formula: "Each server has 16 points on a ring of 2^32 places for each unit of its weight, hashed from its address (HAProxy: \
                  hash-key addr-port; of servers with one address each has its own), or with `points` from that without the port (`host`; addr), \
                  from its name (`name`; guid) or from its place in the pool (`position`; id, HAProxy's default; `id32`; `id`, what id was by mistake in \
                  releases of 3.0 to 3.2). The `key`, the client's address without one, is hashed as for hash, and mixed unless \
                  `avalanche = false`; the nearest point's server is chosen, the next on the ring if that one is busy, or with \
                  `fallback = false` the request waits for it (as for source). When \
                  a server leaves, only its own keys move. Above a million points all servers have fewer, in steps of some percent. With \
                  `bounded-load` (HAProxy: hash-balance-factor) a server that has its share of ceil((active + 1) * F / 100) \
                  places is passed over, active being all requests in the pool; where all that are within have no room the request waits. \
                  Two workers that choose at the same moment may both take the last place.",
        when_to_use: "As hash and source, where servers come and go; caches, with bounded-load where some keys are much asked for.",
        cost: "O(log(points)), and the length of the key",
    },
    AlgorithmEntry {
        algorithm: Algorithm::Maglev,
        origin: "Google (Maglev, NSDI 2016); in IPVS as mh, in Envoy as maglev",
        formula: "Servers take the places of a table of prime size (`table-size`, 65,537) in turn, each in an order of preference of its own, \
                  its kth place being due at k / weight; the mixed hash of the `key`, the client's address without one, is a place. The order comes from \
                  the server's address. Shares are even within about 2% where the lightest server has a hundred places; a few percent of others' \
                  keys move, too, when a server leaves or its weight changes, and nearly all when the size does.",
        when_to_use: "As ring, with more even shares; several balancers with the same config choose alike.",
        cost: "O(1); a change of servers makes a new table",
    },
    AlgorithmEntry {
        algorithm: Algorithm::Ketama,
        origin: "NGINX (hash KEY consistent); Cache::Memcached::Fast",
        formula: "Each server has 160 points on a ring of 2^32 places for each unit of its weight: the CRC-32 of its host, a zero \
                  byte, its port and the point before. The first point at or behind the CRC-32 of the `key` (of an address as it \
                  is written) is chosen, up to 20 points further if its server is down, busy or has failed the request, then the \
                  servers take turns. The address is the one in the config, with its port (NGINX takes 80 for granted without \
                  writing it). Of servers with one address the first has the points. Above a million points all have \
                  fewer, in steps of some percent. With `bounded-load` (NGINX: none) a server that has its places is passed over as \
                  by ring, and the next one on the ring is sought, up to 256 points further.",
        when_to_use: "As ring, where several balancers list the same servers in any order, or stand beside NGINX; ten times the points for a unit of \
                      weight.",
        cost: "O(log(points)), and the length of the key",
    },
    AlgorithmEntry {
        algorithm: Algorithm::Rendezvous,
        origin: "Thaler and Ravishankar (highest random weight, 1998); in Traefik and Sozu as hrw, in Envoy as rendezvous",
        formula: "Every server draws -ln(u) / weight for the `key`, u being a hash of its address and the key; the least is chosen. \
                  (u is the key's place in an order that is shuffled by the address, which is how the least is found without asking every server.) Approximated in that keys are put into 131,072 buckets first, and the draw is for the bucket: the keys \
                  of one bucket stay together, and a server's share is off by about one part in the root of its buckets \
                  (1% for 13,000 of them). When a server leaves, exactly its own keys move, each to its second choice. Where more than 256 servers draw and the chosen one has no room, \
                  the key goes where another bucket would, of up to 16, then to the least loaded server.",
        when_to_use: "As ring, with even shares, exact weights and no dependence on the order of servers.",
        cost: "O(1); of up to 256 servers each is asked when a bucket is first asked for after a change, and where its server has no room",
    },
    AlgorithmEntry {
        algorithm: Algorithm::NginxIpHash,
        origin: "NGINX (ip_hash)",
        formula: "From 89 on, hash = (hash * 113 + octet) % 6271 over the first three octets of an IPv4 address or all of IPv6; \
                  modulo the sum of the weights it is a place in the list of servers. If that server is down, busy or has \
                  failed the request, the hash is carried on over the same octets, up to 20 times, then the servers take \
                  turns. A client without an address counts as 0.0.0. IPv4 clients on a socket of both families hash as IPv4.",
        when_to_use: "Where the choice must be NGINX's; otherwise source or ring: whole networks of clients share one server.",
        cost: "O(log n)",
    },
    AlgorithmEntry {
        algorithm: Algorithm::NginxHash,
        origin: "NGINX (hash KEY); Cache::Memcached",
        formula: "Bits 16 to 30 of the CRC-32 of the `key` (of an address as it is written), modulo the sum of the weights, are a \
                  place in the list of servers. If that server is down, busy or has failed the request, those of the key \
                  with 1, 2, ... in front are added, up to 20 times, then the servers take turns, as they do for an empty key.",
        when_to_use: "Where the choice must be NGINX's; otherwise ketama or ring, where fewer keys move.",
        cost: "O(log n), and the length of the key",
    },
    AlgorithmEntry {
        algorithm: Algorithm::IpvsSh,
        origin: "IPVS (sh, source hashing; flags sh-fallback and sh-port)",
        formula: "256 places are filled with the servers in order, each as often as it weighs, round and round; the client's address \
                  (another `key`: its hash), its port added with `port`, times 0x61c88647, the highest 8 bits, is a place. If its \
                  server has no room, that many places further the same hash is looked up again (sh-fallback; IPVS: only on \
                  demand); with `fallback = false` the request waits. Weights beyond 256 in sum leave the last servers \
                  without a place. A server that is down or of weight 0 has no places (IPVS: one of weight 0 has one, and those who get it are \
                  refused).",
        when_to_use: "Where the choice must be the kernel's; otherwise source or ring.",
        cost: "O(1)",
    },
    AlgorithmEntry {
        algorithm: Algorithm::IpvsDh,
        origin: "IPVS (dh, destination hashing)",
        formula: "256 places are filled with the servers in order, whatever they weigh; the address that the client has connected to \
                  (another `key`: its hash), times 0x61c88647, the highest 8 bits, is a place. If its server has no room, \
                  another is sought as by ipvs-sh (IPVS: never); with `fallback = false` the request waits (IPVS: is refused).",
        when_to_use: "Transparent caches, where the address says what is asked for and the choice must be the kernel's; otherwise \
                      ring by uri or host.",
        cost: "O(1)",
    },
    AlgorithmEntry {
        algorithm: Algorithm::IpvsMh,
        origin: "IPVS (mh, Maglev hashing; flags mh-fallback and mh-port; table index 12)",
        formula: "Maglev's table of 4,093 places. A server's offset and skip are SipHash-1-3 of its address and port, so that they \
                  depend on its address alone; each turn it takes as many places as its weight over the common divisor, cut \
                  to 6 bits. The client's address (another `key`: its hash), its port added with `port`, hashed alike, is a place. \
                  Without room there another is sought as by ipvs-sh (mh-fallback; IPVS: only on demand); with `fallback = false` the request waits (IPVS: is refused). A name or a Unix \
                  socket counts by its CRC-32. A server that is down has no places.",
        when_to_use: "Balancers that must choose as the kernel does; otherwise maglev, with more places.",
        cost: "O(1); a change of servers makes a new table",
    },
    AlgorithmEntry {
        algorithm: Algorithm::Lblc,
        origin: "IPVS (lblc, locality-based least connections)",
        formula: "A `key`, the address that the client has connected to without one, stays with the server that it was given to, \
                  unless that one is gone or has no room, or has more requests than it weighs while another has fewer than half \
                  of what it weighs: then, and the first time, it goes to the server with the fewest requests for its weight (ipvs-wlc). \
                  (IPVS looks at no upper threshold of a server that has the key.) 16,384 keys are wanted, 256 in each of 64 parts of the table; of more in a part, \
                  those there that were not asked for in 6 minutes go at the next minute, and at four times as many the older half (IPVS: the \
                  whole table is counted and swept at once, and has no limit); a key that was not asked for during `expiration` goes within half an hour.",
        when_to_use: "Caches: each thing at one server, but no server flooded. Give it a key such as uri or host.",
        cost: "O(log n), and a short lock for a 64th of the keys; whoever finds it held picks by load",
    },
    AlgorithmEntry {
        algorithm: Algorithm::Lblcr,
        origin: "IPVS (lblcr, locality-based least connections with replication)",
        formula: "As lblc, but a key has a set of servers, of which the one with the fewest requests for its weight is chosen. When that \
                  one has too much to do, the least loaded server of all is added to the set. A set of several that has not changed \
                  for `expiration` loses its most loaded member at the next request. At most 16 servers for a key (IPVS: no limit).",
        when_to_use: "As lblc, where single keys are asked for more than one server can bear. Shorten expiration to minutes.",
        cost: "O(log n) and the size of the set, and a short lock as for lblc",
    },
];

impl Algorithm {
    /// Returns the text that `weir algorithms` prints about the algorithm.
    pub fn entry(self) -> &'static AlgorithmEntry {
        // The list is in the order of the enum; a test checks that.
        &ALGORITHMS[self as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_algorithm_is_listed_under_its_own_entry() {
        for (algorithm, entry) in Algorithm::ALL.into_iter().zip(ALGORITHMS) {
            assert_eq!(entry.algorithm, algorithm);
            assert_eq!(algorithm.entry().algorithm, algorithm);
        }
    }
}
