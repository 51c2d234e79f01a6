//! The key and the options of a pool's hash.

use std::fmt;

use serde::Serialize;
use weir_balance::HashOptions;
use weir_http::RequestKey;

/// What the algorithms of the hash family go by in one pool (`balance`). The others do not look at it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct HashPlan {
    /// What requests are kept together by.
    pub key: KeyPlan,
    /// How the key becomes a choice.
    pub options: HashOptions,
}

/// What requests (TCP: connections) are kept together by.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum KeyPlan {
    /// The client's address.
    Source,
    /// The address that the client has connected to.
    Destination,
    /// The cookie of this name in the first bytes of a remote desktop connection.
    RdpCookie(String),
    /// A part of an HTTP request.
    Request(RequestKey),
}

impl KeyPlan {
    /// Only HTTP has it.
    pub fn needs_http(&self) -> bool {
        matches!(self, Self::Request(_))
    }

    /// Only TCP mode has it.
    pub fn needs_tcp(&self) -> bool {
        matches!(self, Self::RdpCookie(_))
    }
}

/// As the file has it; of an expression, its text.
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
