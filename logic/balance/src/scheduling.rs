//! The scheduling configuration of a pool: the algorithm and its options.

use serde::Serialize;
use weir_model::Millis;

use crate::hash::{self, name_key};
use crate::{Algorithm, HashFunction, Key, MeasureOptions, Membership};

/// An algorithm and its options, as one pool uses them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Scheduling {
    /// Algorithm of the pool.
    pub algorithm: Algorithm,
    /// Options of the algorithms that draw servers at random or use measurements.
    pub measure: MeasureOptions,
    /// The rule that selects the servers that take part.
    pub membership: Membership,
    /// Options of the hash family. The other algorithms use only `bounded_load_percent`.
    pub hash: HashOptions,
}

/// Options of the hash family.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct HashOptions {
    /// Function that turns a key other than an address into a number.
    pub function: HashFunction,
    /// True if the key's hash is mixed once more (HAProxy's `avalanche`). Used by `hash`, `source` and
    /// `ring`.
    pub avalanche: bool,
    /// Source of a server's points on the ring. Used by `ring`.
    pub points: RingPoints,
    /// Most requests that a server may have, in percent of its fair share of all requests; above 100. `None`
    /// = no bound. Used by `ring`, `ketama` and `random` (HAProxy's hash-balance-factor).
    pub bounded_load_percent: Option<u32>,
    /// True if another server is chosen when the key's own server has no room; else the request waits for its
    /// server. Used by `source`, `hash`, `ring`, `maglev`, `rendezvous` and IPVS's hashes.
    pub fallback: bool,
    /// True if the client's port counts as well as its address, where the port is known. Used by `ipvs-sh`
    /// and `ipvs-mh`.
    pub port: bool,
    /// Number of entries in the table, a prime number. Used by `maglev`.
    pub table_size: u32,
    /// Time for which `lblc` and `lblcr` remember an unused key, and for which `lblcr` keeps an unchanged set
    /// of servers.
    pub expiration: Millis,
}

/// Source of a server's points on HAProxy's ring.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum RingPoints {
    /// The server's address (HAProxy's `hash-key addr-port`). The other servers in the pool and their order
    /// do not matter.
    #[default]
    Address,
    /// The server's address without the port (HAProxy's `hash-key addr`).
    Host,
    /// The server's name (HAProxy's `hash-key guid`). The server keeps its keys when its address changes.
    Name,
    /// The server's position in the pool (HAProxy's `hash-key id`, its default). When a server is removed
    /// from the config, the points of all later servers change.
    Position,
    /// The position, hashed, as HAProxy 3.0 to 3.2 computed it by mistake in releases before October 2025.
    Id,
    /// The position, hashed in network byte order (HAProxy's `hash-key id32`, since 3.4).
    Id32,
}

impl HashOptions {
    /// IPVS's lblc_expiration and lblcr_expiration: a day.
    pub const EXPIRATION: Millis = Millis(24 * 60 * 60 * 1_000);

    /// Envoy's default table_size.
    pub const TABLE_SIZE: u32 = 65_537;
    /// Envoy's largest table_size.
    pub const TABLE_SIZE_MAX: u32 = 5_000_011;

    /// Number of buckets of `rendezvous`; one server owns each bucket.
    pub const BUCKETS: u32 = hash::BUCKETS;

    /// Returns the defaults for an algorithm.
    pub const fn of(algorithm: Algorithm) -> Self {
        Self {
            function: algorithm.own_function(),
            avalanche: matches!(algorithm, Algorithm::Ring),
            points: RingPoints::Address,
            bounded_load_percent: None,
            fallback: true,
            port: false,
            table_size: Self::TABLE_SIZE,
            expiration: Self::EXPIRATION,
        }
    }

    /// Hashes `bytes` into a key.
    pub fn key_of(&self, bytes: &[u8]) -> Key {
        Key::Digest(self.function.digest(bytes))
    }
}

impl From<Algorithm> for Scheduling {
    fn from(algorithm: Algorithm) -> Self {
        let hash = HashOptions::of(algorithm);
        Self { algorithm, measure: MeasureOptions::default(), membership: Membership::default(), hash }
    }
}

impl RingPoints {
    /// All variants.
    pub const ALL: [Self; 6] = [Self::Address, Self::Host, Self::Name, Self::Position, Self::Id, Self::Id32];

    /// Returns the name in config.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Address => "address",
            Self::Host => "host",
            Self::Name => "name",
            Self::Position => "position",
            Self::Id => "id",
            Self::Id32 => "id32",
        }
    }

    /// Returns the number that stands for a server's name if points come from names, else 0.
    pub fn name_key(self, name: &str) -> u32 {
        if self == Self::Name { name_key(name) } else { 0 }
    }
}
