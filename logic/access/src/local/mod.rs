//! Local users that a storage area acts as: maps each identity to a user that the kernel knows.

mod accounts;
mod map;

pub use accounts::{AccountError, Accounts, LocalIds};
pub use map::{UserMap, UserMapError};
