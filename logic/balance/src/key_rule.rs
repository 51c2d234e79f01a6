use weir_model::Weight;

use crate::Algorithm;

/// How a server's load becomes the key that servers are compared by; the smallest is chosen.
///
/// Fractions have 16 bits behind the point: two that differ, with weights up to 256, differ by at least
/// 1/(256 * 256), and so do the keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum KeyRule {
    /// HAProxy's leastconn (lb_fwlc.c): 0 for an idle server whatever its weight, else
    /// (inflight + 1) * 4096 / eweight, where the effective weight is 16 times the configured one.
    LeastConnections,
    /// ip_vs_lc.c: overhead = active * 256 + inactive, whatever the weight. A proxy's connections are all active (a closed
    /// one is no longer known here), so that active alone compares alike.
    IpvsLeastConnections,
    /// ip_vs_wlc.c: overhead / weight; as above.
    IpvsWeightedLeastConnections,
    /// ip_vs_sed.c: (active + 1) / weight.
    ShortestExpectedDelay,
    /// ip_vs_nq.c: any idle server, else as the shortest expected delay.
    NeverQueue,
    /// HAProxy's first (lb_fas.c): the order of the servers alone.
    First,
    /// ip_vs_fo.c: the highest weight.
    Failover,
    /// ip_vs_ovf.c: the highest weight of those with active <= weight; the others after them, by active / weight.
    Overflow,
}

const FRACTION_BITS: u32 = 16;
/// Loads over weights count up to here: 64 million requests for each unit of weight.
const PER_WEIGHT_MAX: u64 = (1 << 42) - 1;
/// Above every key of a server that is not overflowing.
const OVERFLOWING: u64 = 1 << 42;

impl KeyRule {
    /// The rule of an algorithm that goes by keys.
    pub(crate) fn of(algorithm: Algorithm) -> Option<Self> {
        Some(match algorithm {
            Algorithm::LeastConnections => Self::LeastConnections,
            Algorithm::IpvsLc => Self::IpvsLeastConnections,
            Algorithm::IpvsWlc | Algorithm::Lblc | Algorithm::Lblcr => Self::IpvsWeightedLeastConnections,
            Algorithm::Sed => Self::ShortestExpectedDelay,
            Algorithm::Nq => Self::NeverQueue,
            Algorithm::First => Self::First,
            Algorithm::Failover => Self::Failover,
            Algorithm::Overflow => Self::Overflow,
            Algorithm::RoundRobin
            | Algorithm::StaticRr
            | Algorithm::IpvsWrr
            | Algorithm::Random
            | Algorithm::Source
            | Algorithm::Hash
            | Algorithm::Ring
            | Algorithm::Maglev
            | Algorithm::Ketama
            | Algorithm::Rendezvous
            | Algorithm::NginxIpHash
            | Algorithm::NginxHash
            | Algorithm::IpvsSh
            | Algorithm::IpvsDh
            | Algorithm::IpvsMh => return None,
        })
    }

    /// Whether equal keys are chosen in turn; else the first server in the pool's order is.
    pub(crate) fn takes_turns(self) -> bool {
        self == Self::LeastConnections
    }

    /// The key: below 2^31 where turns are taken, for requests up to eight million per server; else below 2^43.
    pub(crate) fn key(self, active: u32, weight: Weight) -> u64 {
        const EFFECTIVE_WEIGHT_SCALE: u64 = 16;
        const EFFECTIVE_WEIGHT_MAX: u64 = 256 * EFFECTIVE_WEIGHT_SCALE;
        let active = u64::from(active);
        let weight = u64::from(weight.get()).max(1);
        let per_weight = |load: u64| ((load << FRACTION_BITS) / weight).min(PER_WEIGHT_MAX);
        let lightest_last = u64::from(Weight::MAX.get()) - weight;
        match self {
            Self::LeastConnections if active == 0 => 0,
            Self::LeastConnections => (active + 1) * EFFECTIVE_WEIGHT_MAX / (weight * EFFECTIVE_WEIGHT_SCALE),
            Self::IpvsLeastConnections => active,
            Self::IpvsWeightedLeastConnections => per_weight(active),
            Self::NeverQueue if active == 0 => 0,
            Self::ShortestExpectedDelay | Self::NeverQueue => per_weight(active + 1),
            Self::First => 0,
            Self::Failover => lightest_last,
            Self::Overflow if active <= weight => lightest_last,
            Self::Overflow => OVERFLOWING + per_weight(active),
        }
    }
}
