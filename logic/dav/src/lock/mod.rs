//! Write locks (RFC 4918 sections 6 and 7): who holds which part of the tree, and which tokens a change needs.
//!
//! A table of paths; whether there is something at a path is for the caller to know. Times are seconds since 1970.

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
