//! The names of the scheduling algorithms and their properties.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::HashFunction;

/// The rule by which a pool chooses a server for a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Algorithm {
    /// Smooth weighted round robin (NGINX's formula).
    RoundRobin,
    /// A fixed sequence in which each server occurs as often as its weight says (HAProxy's static-rr).
    StaticRr,
    /// One server after the other, whatever the weights (IPVS's rr).
    IpvsRr,
    /// Passes over ever lighter servers (IPVS's wrr).
    IpvsWrr,
    /// Fewest active requests relative to weight; ties in round robin (HAProxy's leastconn key).
    #[default]
    LeastConnections,
    /// Fewest active requests, whatever the weight (IPVS's lc).
    IpvsLc,
    /// Fewest active requests relative to weight; ties go to the first server (IPVS's wlc).
    IpvsWlc,
    /// Shortest expected delay: fewest requests relative to weight, counting the new one (IPVS's sed).
    Sed,
    /// Never queue: an idle server if there is one, else the shortest expected delay (IPVS's nq).
    Nq,
    /// The first server that has room (HAProxy's first).
    First,
    /// The heaviest available server (IPVS's fo).
    Failover,
    /// The heaviest server until it has as many requests as its weight, then the next (IPVS's ovf).
    Overflow,
    /// Two or more weighted random draws; the least loaded of them wins (power of two choices).
    Random,
    /// Two random draws by weight, made as the kernel makes them; the less loaded one wins (IPVS's twos).
    IpvsTwos,
    /// Random draws and the fewest active requests, or a schedule by weight over active requests (Envoy's
    /// least request).
    LeastRequest,
    /// Two random draws; the one with less latency times load wins (Finagle's and Envoy's peak EWMA).
    PeakEwma,
    /// The least estimated time for all work of the server, the new request included (NGINX's least_time).
    LeastResponseTime,
    /// Fewest bytes in the last 14 seconds (NetScaler's least bandwidth).
    LeastBandwidth,
    /// Hash of the client's address over the weighted map (HAProxy's `source`, map-based).
    Source,
    /// Hash of a key over the weighted map (HAProxy's `uri`, `hdr` and the like, map-based).
    Hash,
    /// Hash of a key on a ring; few keys move when a server is added or removed (HAProxy's consistent).
    Ring,
    /// Hash of a key over Maglev's table; few keys move, and the shares are nearly even.
    Maglev,
    /// Hash of a key on a ring whose points come from the servers' addresses (NGINX's `hash ... consistent`).
    Ketama,
    /// Highest random weight: each server draws a weighted waiting time for the key, and the shortest wins.
    /// Only the keys of a removed server move.
    Rendezvous,
    /// Hash of the client's network (NGINX's ip_hash).
    NginxIpHash,
    /// Hash of a key, hashed again while the server it finds cannot be used (NGINX's `hash`).
    NginxHash,
    /// Hash of the client's address over a table of 256 entries (IPVS's sh).
    IpvsSh,
    /// Hash of the address that the client connected to, over a table of 256 entries (IPVS's dh).
    IpvsDh,
    /// Hash of the client's address over Maglev's table, filled as the kernel fills it (IPVS's mh).
    IpvsMh,
    /// A key stays with its server until that server is overloaded while another has little load (IPVS's
    /// lblc).
    Lblc,
    /// Like lblc, with several servers for a popular key (IPVS's lblcr).
    Lblcr,
}

impl Algorithm {
    /// Every algorithm, in the order in which `weir algorithms` lists them.
    pub const ALL: [Self; 31] = [
        Self::RoundRobin,
        Self::StaticRr,
        Self::IpvsRr,
        Self::IpvsWrr,
        Self::LeastConnections,
        Self::IpvsLc,
        Self::IpvsWlc,
        Self::Sed,
        Self::Nq,
        Self::First,
        Self::Failover,
        Self::Overflow,
        Self::Random,
        Self::IpvsTwos,
        Self::LeastRequest,
        Self::PeakEwma,
        Self::LeastResponseTime,
        Self::LeastBandwidth,
        Self::Source,
        Self::Hash,
        Self::Ring,
        Self::Maglev,
        Self::Ketama,
        Self::Rendezvous,
        Self::NginxIpHash,
        Self::NginxHash,
        Self::IpvsSh,
        Self::IpvsDh,
        Self::IpvsMh,
        Self::Lblc,
        Self::Lblcr,
    ];

    /// Returns the name in config, metrics and listings.
    pub const fn name(self) -> &'static str {
        match self {
            Self::RoundRobin => "round-robin",
            Self::StaticRr => "static-rr",
            Self::IpvsRr => "ipvs-rr",
            Self::IpvsWrr => "ipvs-wrr",
            Self::LeastConnections => "least-connections",
            Self::IpvsLc => "ipvs-lc",
            Self::IpvsWlc => "ipvs-wlc",
            Self::Sed => "sed",
            Self::Nq => "nq",
            Self::First => "first",
            Self::Failover => "failover",
            Self::Overflow => "overflow",
            Self::Random => "random",
            Self::IpvsTwos => "ipvs-twos",
            Self::LeastRequest => "least-request",
            Self::PeakEwma => "peak-ewma",
            Self::LeastResponseTime => "least-response-time",
            Self::LeastBandwidth => "least-bandwidth",
            Self::Source => "source",
            Self::Hash => "hash",
            Self::Ring => "ring",
            Self::Maglev => "maglev",
            Self::Ketama => "ketama",
            Self::Rendezvous => "rendezvous",
            Self::NginxIpHash => "nginx-ip-hash",
            Self::NginxHash => "nginx-hash",
            Self::IpvsSh => "ipvs-sh",
            Self::IpvsDh => "ipvs-dh",
            Self::IpvsMh => "ipvs-mh",
            Self::Lblc => "lblc",
            Self::Lblcr => "lblcr",
        }
    }
}

impl Algorithm {
    /// Returns true if the algorithm counts fractions of a weight, as set by zones, subsets, agents and slow
    /// start.
    ///
    /// The other algorithms count only whole weights, as their originals do. Some ignore weights or use only
    /// their order; the others need whole numbers for tables that follow the kernel or NGINX.
    pub const fn weighs_portions(self) -> bool {
        !matches!(
            self,
            Self::IpvsRr
                | Self::IpvsWrr
                | Self::IpvsLc
                | Self::First
                | Self::Failover
                | Self::NginxIpHash
                | Self::NginxHash
                | Self::IpvsSh
                | Self::IpvsDh
                | Self::IpvsMh
        )
    }

    /// Returns true if the algorithm also counts fractions of a weight that change continually, as those of
    /// slow start and agents do.
    ///
    /// Each change of HAProxy's weighted map moves most keys to other servers. There, as in HAProxy, such
    /// fractions do not count.
    pub const fn weighs_moving_portions(self) -> bool {
        self.weighs_portions() && !matches!(self, Self::Source | Self::Hash)
    }

    /// Returns true if the request's key alone chooses the server, as long as that server has room.
    pub const fn goes_by_key(self) -> bool {
        matches!(
            self,
            Self::Source
                | Self::Hash
                | Self::Ring
                | Self::Maglev
                | Self::Ketama
                | Self::Rendezvous
                | Self::NginxIpHash
                | Self::NginxHash
                | Self::IpvsSh
                | Self::IpvsDh
                | Self::IpvsMh
        )
    }

    /// Returns true if a key has only one server in the original, even after that server has failed the
    /// request. Only `fallback` adds others.
    pub const fn keeps_to_one_server(self) -> bool {
        matches!(self, Self::IpvsSh | Self::IpvsDh | Self::IpvsMh)
    }

    /// Returns true if the algorithm uses the request's key.
    pub const fn takes_key(self) -> bool {
        self.goes_by_key() || matches!(self, Self::Lblc | Self::Lblcr)
    }

    /// Returns the default hash function for keys.
    pub(crate) const fn own_function(self) -> HashFunction {
        match self {
            Self::Ketama | Self::NginxHash => HashFunction::Crc32,
            _ => HashFunction::Sdbm,
        }
    }
}

impl fmt::Display for Algorithm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A name that [`Algorithm::ALL`] does not have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnknownAlgorithm(pub String);

impl FromStr for Algorithm {
    type Err = UnknownAlgorithm;
    fn from_str(name: &str) -> Result<Self, UnknownAlgorithm> {
        let found = Self::ALL.into_iter().find(|algorithm| algorithm.name() == name);
        found.ok_or_else(|| UnknownAlgorithm(name.to_owned()))
    }
}

impl fmt::Display for UnknownAlgorithm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<_> = Algorithm::ALL.iter().map(|algorithm| algorithm.name()).collect();
        write!(f, "unknown algorithm {:?}: one of {}", self.0, names.join(", "))
    }
}

impl std::error::Error for UnknownAlgorithm {}
