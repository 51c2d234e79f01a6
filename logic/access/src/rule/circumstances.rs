use std::net::IpAddr;

/// What rules may know of a request beyond who asks for what. Only Cedar policies look at it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Circumstances {
    /// Its method: `GET`.
    pub method: String,
    /// The time, in seconds since 1970.
    pub now_unix_secs: u64,
    /// The client's address; `None` if it came through a Unix socket.
    pub client: Option<IpAddr>,
}
