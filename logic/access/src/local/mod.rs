//! Local users that a storage area acts as: who of those who ask is who of those whom the kernel knows.

mod accounts;
mod map;

pub use accounts::{AccountError, Accounts, LocalIds};
pub use map::{UserMap, UserMapError};
