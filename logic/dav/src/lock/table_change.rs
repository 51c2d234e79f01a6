//! Changes of the lock table, for replication.

use serde::{Deserialize, Serialize};

use super::Lock;
use crate::header::LockToken;

/// One change of a lock table, in the form of the log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TableChange {
    /// Adds a lock, or replaces the one with its token.
    Set(Lock),
    /// Removes the lock with this token.
    Remove(LockToken),
}
