//! Hash algorithms: tables from keys to servers that move few keys when a server is added or removed.

mod avalanche;
mod by_weight;
mod crc32;
mod function;
mod identity;
mod ipvs;
mod ketama;
mod maglev;
pub(crate) mod nginx_hash;
pub(crate) mod nginx_ip_hash;
mod rendezvous;
mod ring;
mod signpost;
mod siphash;
mod xxh32;

pub(crate) use avalanche::avalanche;
pub(crate) use by_weight::ByWeight;
pub use function::{Digest, HashFunction};
pub(crate) use identity::{Addressed, apart, host_keys, name_key, ring_keys};
pub(crate) use ipvs::{IpvsKind, IpvsTable};
pub(crate) use ketama::Ketama;
pub(crate) use maglev::Maglev;
pub(crate) use rendezvous::{BUCKETS, Rendezvous};
pub(crate) use ring::{Ring, id_key, id32_key, position_key};
