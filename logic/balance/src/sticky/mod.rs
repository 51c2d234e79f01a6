//! Stickiness: a client stays with the server that it started with.
//!
//! The main types:
//! - [`StickyToken`]: the content of a cookie, and its validity.
//! - [`StickyTable`]: the server that each key is bound to, for clients that cannot carry a cookie: bounded,
//!   expiring, shared.
//! - [`Roster::standing`](crate::Roster::standing): whether a server takes requests that are bound to it.

mod key;
mod shard;
mod standing;
mod table;
mod token;

pub use key::{StickyKey, StickyKeys, masked_source};
pub use standing::Standing;
pub use table::{StickyTable, StickyTableCounts, StickyTableRule};
pub use token::{StickyToken, TokenAge, TokenLife};
