use crate::Algorithm;

/// What an algorithm makes of weights that change again and again, in proportion to what servers can do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WeightUse {
    /// Each server gets its part.
    Shares,
    /// Each server gets its part, and with every change most keys go to other servers.
    MovesKeys,
    /// Only the order of weights counts: a change puts another server in front.
    OrdersServers,
    /// A weight is a number of requests at once, and not a part.
    CountsRequests,
    /// Weights do not count.
    Nothing,
}

impl Algorithm {
    /// What it makes of weights that are found by measurement.
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
