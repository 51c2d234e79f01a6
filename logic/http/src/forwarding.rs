use ipnet::IpNet;
use serde::{Deserialize, Serialize};

/// What Weir tells servers about the client, and what it believes of what clients say.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ForwardingRules {
    /// X-Forwarded-For, -Proto, -Host. Other X-Forwarded- fields are never added; they are dropped where these are removed, and
    /// a stranger's also where these are replaced or appended to. Spellings with underscores are passed only where all is.
    pub x_forwarded: ForwardedFor,
    /// Forwarded (RFC 7239).
    pub forwarded: ForwardedFor,
    /// Peers whose X-Forwarded-* and Forwarded are believed and appended to, whatever the rules above say; only `remove`
    /// removes theirs too.
    pub trusted: Vec<IpNet>,
    /// Names removed from client requests, trusted or not, compared without case and with `_` as `-`; a trailing `*`
    /// matches any rest. X-VOMS-* and X-Remote-User are removed even if they are not listed. In trailers they are refused.
    pub identity_headers: Vec<String>,
    /// The pseudonym in `Via: 1.1 NAME`; none = no Via header.
    pub via: Option<String>,
    /// Request ids.
    pub request_id: Option<RequestIdRule>,
}

/// What happens to a forwarding header.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ForwardedFor {
    /// The client's own lines are dropped and replaced by what Weir saw; a trusted peer's are appended to.
    #[default]
    Set,
    /// The addresses are always appended to; a stranger's X-Forwarded-Proto and -Host are replaced, for they are no lists.
    Append,
    /// Passed as it came.
    Pass,
    /// Removed.
    Remove,
}

/// Gives each request an id.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RequestIdRule {
    /// The header that carries it, in requests to servers and in responses to clients.
    pub header: String,
    /// A client's own id is kept if it is 1 to 128 visible ASCII characters; else a new one is made.
    pub accept: bool,
}
