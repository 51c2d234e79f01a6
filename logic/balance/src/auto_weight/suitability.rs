//! The effect of automatic weights on each algorithm.

use crate::Algorithm;

/// Effect of weights that change continually in proportion to the servers' speeds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WeightUse {
    /// Each server gets its share.
    Shares,
    /// Each server gets its share, but every change moves most keys to other servers.
    MovesKeys,
    /// Only the order of the weights counts: a change puts another server in front.
    OrdersServers,
    /// A weight is a number of concurrent requests, not a share.
    CountsRequests,
    /// Weights do not count.
    Nothing,
}

impl Algorithm {
    /// Returns the effect of automatic weights on the algorithm.
    pub const fn weight_use(self) -> WeightUse {
        match self {
            Self::Source | Self::Hash | Self::NginxIpHash | Self::NginxHash | Self::IpvsSh => {
                WeightUse::MovesKeys
            }
            Self::Failover => WeightUse::OrdersServers,
            Self::Overflow | Self::Lblc | Self::Lblcr => WeightUse::CountsRequests,
            Self::First | Self::IpvsRr | Self::IpvsLc | Self::IpvsDh => WeightUse::Nothing,
            Self::RoundRobin
            | Self::StaticRr
            | Self::IpvsWrr
            | Self::LeastConnections
            | Self::IpvsWlc
            | Self::Sed
            | Self::Nq
            | Self::Random
            | Self::IpvsTwos
            | Self::LeastRequest
            | Self::PeakEwma
            | Self::LeastResponseTime
            | Self::LeastBandwidth
            | Self::Ring
            | Self::Maglev
            | Self::Ketama
            | Self::Rendezvous
            | Self::IpvsMh => WeightUse::Shares,
        }
    }
}
