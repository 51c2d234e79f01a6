//! WebDAV locks in replies.

use serde::{Deserialize, Serialize};

/// A WebDAV lock.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct LockSnapshot {
    /// Storage area of the resource.
    pub area: String,
    /// Path of the locked resource, as in URLs.
    pub path: String,
    /// Holder of the lock: `user NAME`, `certificate SUBJECT`, `token ISSUER SUBJECT` or `anonymous`.
    pub holder: String,
    /// True if no second lock may exist beside it.
    pub exclusive: bool,
    /// True if it also covers everything below the resource.
    pub infinite: bool,
    /// Time at which it ends, in seconds since 1970.
    pub ends_unix_s: u64,
}
