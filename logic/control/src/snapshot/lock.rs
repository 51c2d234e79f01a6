use serde::{Deserialize, Serialize};

/// A WebDAV lock.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct LockSnapshot {
    /// The storage area.
    pub area: String,
    /// The locked resource, as URLs have it.
    pub path: String,
    /// Who made it: `user NAME`, `certificate SUBJECT`, `token ISSUER SUBJECT` or `anonymous`.
    pub holder: String,
    /// No second lock may exist beside it.
    pub exclusive: bool,
    /// It covers what is below the resource, too.
    pub infinite: bool,
    /// When it ends, in seconds since 1970.
    pub ends_unix_s: u64,
}
