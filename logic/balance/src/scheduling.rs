use serde::Serialize;
use weir_model::Millis;

use crate::hash::{self, name_key};
use crate::{Algorithm, HashFunction, Key, MeasureOptions, Membership};

/// An algorithm and its options: how one pool chooses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Scheduling {
    /// The algorithm.
    pub algorithm: Algorithm,
    /// What the algorithms that draw servers or go by measurements are told.
    pub measure: MeasureOptions,
    /// Which of the servers take part.
    pub membership: Membership,
    /// What the algorithms of the hash family go by; the others do not look at it, but for `bounded_load_percent`.
    pub hash: HashOptions,
}

/// Options of the hash family.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct HashOptions {
    /// How a key that is not an address becomes a number.
    pub function: HashFunction,
    /// Whether the key's hash is mixed once more (HAProxy's `avalanche`). Used by `hash`, `source` and `ring`.
    pub avalanche: bool,
    /// What a server's points on the ring come from. Used by `ring`.
    pub points: RingPoints,
    /// No server may have more than this share of its fair part of all requests, in percent, over 100; `None` = no bound.
    /// Used by `ring`, `ketama` and `random` (HAProxy's hash-balance-factor).
    pub bounded_load_percent: Option<u32>,
    /// Whether another server is sought when the key's own has no room; else the request waits for that one. Used by `source`, `hash`, `ring`,
    /// `maglev`, `rendezvous` and IPVS's hashes.
    pub fallback: bool,
    /// Whether the client's port counts as well as its address, where it is known. Used by `ipvs-sh` and `ipvs-mh`.
    pub port: bool,
    /// Places in the table, a prime number. Used by `maglev`.
    pub table_size: u32,
    /// How long `lblc` and `lblcr` remember a key that nobody asks for, and `lblcr` keeps a set that does not change.
    pub expiration: Millis,
}

/// What a server's points on HAProxy's ring come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum RingPoints {
    /// Its address (HAProxy's `hash-key addr-port`): who else is in the pool, and in which order, does not matter.
    #[default]
    Address,
    /// The same without the port (HAProxy's `hash-key addr`).
    Host,
    /// Its name (HAProxy's `hash-key guid`): it may move to another address and keeps its keys.
    Name,
    /// Its place in the pool's order (HAProxy's `hash-key id`, its default): when a server is taken out of the config, those behind
    /// it change their points.
    Position,
    /// The same, hashed, as releases of HAProxy 3.0 to 3.2 from before October 2025 did by mistake.
    Id,
    /// The same, hashed in network order (HAProxy's `hash-key id32`, from 3.4 on).
    Id32,
}

impl HashOptions {
    /// IPVS's lblc_expiration and lblcr_expiration: a day.
    pub const EXPIRATION: Millis = Millis(24 * 60 * 60 * 1_000);

    /// Envoy's default table_size.
    pub const TABLE_SIZE: u32 = 65_537;
    /// Envoy's largest table_size.
    pub const TABLE_SIZE_MAX: u32 = 5_000_011;

    /// So many buckets has `rendezvous`, each of which is one server's.
    pub const BUCKETS: u32 = hash::BUCKETS;

    /// What holds for an algorithm that is named alone.
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

    /// The key that stands for these bytes.
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
    /// Each of them.
    pub const ALL: [Self; 6] = [Self::Address, Self::Host, Self::Name, Self::Position, Self::Id, Self::Id32];

    /// The name in config.
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

    /// What a server's name counts as where points come from names; else 0, for nobody asks.
    pub fn name_key(self, name: &str) -> u32 {
        if self == Self::Name { name_key(name) } else { 0 }
    }
}
