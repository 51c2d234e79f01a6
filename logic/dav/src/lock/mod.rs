//! Write locks (RFC 4918 sections 6 and 7): the lock table, and the tokens that a change of a resource needs.
//!
//! The table knows only paths; the caller knows whether a resource exists there. Times are in seconds since
//! 1970.

mod change;
mod entry;
mod error;
mod limits;
mod table;
mod table_change;
#[cfg(test)]
mod tests;

pub use change::{Change, changes};
pub use entry::{Lock, Scope};
pub use error::LockError;
pub use limits::LockLimits;
pub use table::{LockTable, Submitted};
pub use table_change::TableChange;
