//! Stickiness: a client stays with the server it has begun with.
//!
//! The parts:
//! - [`StickyToken`]: what a cookie says, and whether it still counts.
//! - [`StickyTable`]: which server a key is bound to, where the client cannot carry it: bounded, expiring, shared.
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
