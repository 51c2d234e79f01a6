use serde::{Deserialize, Serialize};

/// How clients stay with the servers of a pool.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct StickySnapshot {
    /// What a client is known by: cookie, learn, source or expression.
    pub method: String,
    /// Requests that went to the server they were bound to.
    pub hits: u64,
    /// Requests that were bound to no server, or to one that nobody knows: new clients, forged and outdated cookies.
    pub misses: u64,
    /// Requests that could not have the server they were bound to, and got another.
    pub redispatches: u64,
    /// What is remembered; `None` = clients carry it.
    pub table: Option<StickyTableSnapshot>,
}

/// The clients that a pool remembers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct StickyTableSnapshot {
    /// How many there are; some may have expired.
    pub entries: u64,
    /// How many there may be.
    pub entries_max: u64,
    /// How many were not seen for too long.
    pub expired: u64,
    /// How many had to make room for others.
    pub evicted: u64,
}
