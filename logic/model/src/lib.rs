//! The types that all crates share: names, addresses, weights, sizes and rates.
//!
//! Each type defines how it is parsed and printed. So the config, the command line, the control socket and
//! the metrics use the same spelling. The crate contains no logic of pools or requests.

mod address;
mod client_network;
mod name;
mod quantity;
mod weight;

pub use address::{BindAddress, ServerAddress, ServerHost};
pub use client_network::client_network;
pub use name::{ListenerName, Name, PoolName, RouteName, ServerName, ZoneName};
pub use quantity::{ByteSize, Millis, Rate};
pub use weight::{Weight, WeightOutOfRange};
