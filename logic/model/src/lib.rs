//! The newtypes every crate shares: names, addresses, weights, sizes, rates.
//!
//! Parsing from text and printing back lives beside each type, so that config, command line, control socket and
//! metrics spell a thing the same way. Nothing here knows what a pool or a request does.

mod address;
mod name;
mod quantity;
mod weight;

pub use address::{BindAddress, ServerAddress, ServerHost};
pub use name::{ListenerName, Name, PoolName, RouteName, ServerName, ZoneName};
pub use quantity::{ByteSize, Millis, Rate};
pub use weight::{Weight, WeightOutOfRange};
