use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// How a pool chooses among its servers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Algorithm {
    /// Smooth weighted round robin (NGINX's formula).
    RoundRobin,
    /// Fewest active requests for its weight, ties in round robin (HAProxy's leastconn key).
    #[default]
    LeastConnections,
    /// Two weighted random draws, the less loaded of them (power of two choices).
    Random,
    /// Hash of the client's address over the weighted map (HAProxy's `source`, map-based).
    Source,
}

impl Algorithm {
    /// Every algorithm, in the order that `weir algorithms` lists them.
    pub const ALL: [Self; 4] = [Self::RoundRobin, Self::LeastConnections, Self::Random, Self::Source];

    /// The name in config, metrics and listings.
    pub const fn name(self) -> &'static str {
        match self {
            Self::RoundRobin => "round-robin",
            Self::LeastConnections => "least-connections",
            Self::Random => "random",
            Self::Source => "source",
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
