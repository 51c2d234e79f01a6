use crate::Algorithm;

/// What `weir algorithms` tells about one algorithm.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AlgorithmEntry {
    /// Which one.
    pub algorithm: Algorithm,
    /// Whose formula it is.
    pub origin: &'static str,
    /// The formula, and where Weir differs from its origin.
    pub formula: &'static str,
    /// What it is good for.
    pub when_to_use: &'static str,
    /// What a pick costs, n being the number of servers.
    pub cost: &'static str,
}

/// Every algorithm, in the order of [`Algorithm::ALL`].
pub const ALGORITHMS: [AlgorithmEntry; Algorithm::ALL.len()] = [
    AlgorithmEntry {
        algorithm: Algorithm::RoundRobin,
        origin: "NGINX (the default method, smooth weighted round robin)",
        formula: "Each pick: every server's counter grows by its weight; the highest counter is picked, the first \
                  of equals; the sum of all weights is taken off it. Each worker has its own sequence and its own \
                  place to start. A server that is busy or has just failed the request loses its turn.",
        when_to_use: "Requests of similar cost on servers of known speed; traffic that must follow the weights \
                      exactly.",
        cost: "O(number of different weights)",
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
        algorithm: Algorithm::IpvsWrr,
        origin: "IPVS (wrr)",
        formula: "A threshold falls from the highest weight by the greatest common divisor of all weights; in each pass every \
                  server that weighs at least the threshold is chosen once, in order. A heavy server's requests come in a \
                  row at the start of the sequence.",
        when_to_use: "Where the sequence must be the kernel's; otherwise round-robin.",
        cost: "O(1)",
    },
    AlgorithmEntry {
        algorithm: Algorithm::LeastConnections,
        origin: "HAProxy (leastconn)",
        formula: "The smallest key of: 0 if idle, else (active + 1) * 4096 / (16 * weight), rounded down. Of equal \
                  keys the one chosen longest ago (HAProxy: the one whose key changed longest ago).",
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
        origin: "HAProxy (random(2)): the power of two choices",
        formula: "Two servers are drawn at random by weight, independently; the lower active / weight wins, the \
                  first of equals. (HAProxy draws from a consistent ring, and breaks ties by request rate.)",
        when_to_use: "Several balancers in front of the same servers, who do not know each other's load; servers \
                      that come and go.",
        cost: "O(log n)",
    },
    AlgorithmEntry {
        algorithm: Algorithm::Source,
        origin: "HAProxy (source, hash-type map-based)",
        formula: "The client address's 32-bit words are XORed; the result modulo the sum of the usable servers' \
                  weights (their common divisor taken out) is a place in the weighted map, filled as HAProxy fills \
                  it. Most clients change servers when one comes or goes. A server that is busy or has just failed \
                  the request is passed over for the next in the map (HAProxy waits for it).",
        when_to_use: "Clients that should keep their server without cookies, where addresses are many and stable.",
        cost: "O(1)",
    },
    AlgorithmEntry {
        algorithm: Algorithm::Ring,
        origin: "HAProxy (source, hash-type consistent, avalanche)",
        formula: "Each server has 16 points on a ring of 2^32 places for each unit of its weight, hashed from its place \
                  in the pool. The client address's 32-bit words are XORed and mixed (avalanche); the nearest point's \
                  server is chosen, the next on the ring if that one is busy. When a server leaves, only its own \
                  clients move. Above a million points all servers have fewer, evenly.",
        when_to_use: "As source, where servers come and go; caches.",
        cost: "O(log(points))",
    },
    AlgorithmEntry {
        algorithm: Algorithm::Maglev,
        origin: "Google (Maglev, NSDI 2016); in IPVS as mh, in Envoy as maglev",
        formula: "Servers take the places of a table of prime size in turn, each in an order of preference of its own, \
                  in proportion to the weights; the mixed hash of the client's address is a place. The order comes from \
                  the server's place in the pool (IPVS, Envoy: from its address). Shares are even within about 2%; some \
                  clients of others move when a server leaves, too.",
        when_to_use: "As ring, with more even shares; several balancers with the same config choose alike.",
        cost: "O(1); a change of servers makes a new table",
    },
];

impl Algorithm {
    /// What `weir algorithms` tells about it.
    pub fn entry(self) -> &'static AlgorithmEntry {
        // In the order of the list; a test keeps it so.
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
