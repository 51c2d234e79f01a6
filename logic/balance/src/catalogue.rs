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
        algorithm: Algorithm::LeastConnections,
        origin: "HAProxy (leastconn)",
        formula: "The smallest key of: 0 if idle, else (active + 1) * 4096 / (16 * weight), rounded down. Of equal \
                  keys the one chosen longest ago (HAProxy: the one whose key changed longest ago).",
        when_to_use: "The default. Requests of unequal cost, servers of unequal or changing speed, long connections.",
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
];

impl Algorithm {
    /// What `weir algorithms` tells about it.
    pub fn entry(self) -> &'static AlgorithmEntry {
        let index = match self {
            Self::RoundRobin => 0,
            Self::LeastConnections => 1,
            Self::Random => 2,
            Self::Source => 3,
        };
        &ALGORITHMS[index]
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
