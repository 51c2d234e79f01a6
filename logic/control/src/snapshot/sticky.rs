//! The state of stickiness in a snapshot.

use serde::{Deserialize, Serialize};

/// State of a pool's stickiness.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct StickySnapshot {
    /// Method that identifies clients: cookie, learn, source or expression.
    pub method: String,
    /// Requests that went to the server that they were bound to.
    pub hits: u64,
    /// Requests bound to no server or to an unknown one: new clients, forged and outdated cookies.
    pub misses: u64,
    /// Requests that could not use the server that they were bound to and got another one.
    pub redispatches: u64,
    /// Table of bindings; `None` = clients carry their binding.
    pub table: Option<StickyTableSnapshot>,
}

/// Fill level of a pool's table of bindings.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct StickyTableSnapshot {
    /// Number of entries, some of which may have expired.
    pub entries: u64,
    /// Most entries that the table may have.
    pub entries_max: u64,
    /// Number of entries that have expired.
    pub expired: u64,
    /// Number of entries removed for lack of room.
    pub evicted: u64,
}
