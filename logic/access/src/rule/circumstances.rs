//! Attributes of a request that only Cedar policies use.

use std::net::IpAddr;

/// Attributes of a request besides identity, action and path. Only Cedar policies use them.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Circumstances {
    /// Request method, such as `GET`.
    pub method: String,
    /// Current time, in seconds since 1970.
    pub now_unix_secs: u64,
    /// Client address; `None` for a connection through a Unix socket.
    pub client: Option<IpAddr>,
}
