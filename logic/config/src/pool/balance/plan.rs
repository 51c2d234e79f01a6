//! Settings of a pool's hash: its key and its options.

use std::fmt;

use serde::Serialize;
use weir_balance::HashOptions;
use weir_http::RequestKey;

/// Settings of the hash algorithms in one pool (`balance`). Other algorithms ignore them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct HashPlan {
    /// Key of a request; requests with the same key go to the same server.
    pub key: KeyPlan,
    /// Options that map a key to a server.
    pub options: HashOptions,
}

/// Key by which requests (TCP: connections) keep their server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum KeyPlan {
    /// The client's address.
    Source,
    /// The destination address of the client's connection.
    Destination,
    /// The cookie with this name in the first bytes of a remote desktop (RDP) connection.
    RdpCookie(String),
    /// A part of an HTTP request.
    Request(RequestKey),
}

impl KeyPlan {
    /// Returns true if only HTTP has this key.
    pub fn needs_http(&self) -> bool {
        matches!(self, Self::Request(_))
    }

    /// Returns true if only TCP mode has this key.
    pub fn needs_tcp(&self) -> bool {
        matches!(self, Self::RdpCookie(_))
    }
}

/// Prints the key as in the file; an expression as its text.
impl fmt::Display for KeyPlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Source => f.write_str("source"),
            Self::Destination => f.write_str("destination"),
            Self::RdpCookie(name) => write!(f, "rdp-cookie {name}"),
            Self::Request(key) => match key {
                RequestKey::Uri(_) => f.write_str("uri"),
                RequestKey::Host => f.write_str("host"),
                RequestKey::Path => f.write_str("path"),
                RequestKey::UrlParam(name) => write!(f, "url-param {name}"),
                RequestKey::Header { name, .. } => write!(f, "header {name}"),
                RequestKey::Cookie(name) => write!(f, "cookie {name}"),
                RequestKey::Expression(text) => f.write_str(text),
            },
        }
    }
}
