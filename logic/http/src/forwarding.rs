//! The configuration of forwarding headers.

use ipnet::IpNet;
use serde::{Deserialize, Serialize};

/// The rules for forwarding headers: the data about the client that Weir adds, and the peers whose data it
/// trusts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ForwardingRules {
    /// Rule for X-Forwarded-For, -Proto and -Host. Other X-Forwarded headers are never added. They are
    /// dropped with `remove`, and from untrusted peers also with `set` and `append`. Spellings with other
    /// punctuation are forwarded only with `pass`.
    pub x_forwarded: ForwardedFor,
    /// Rule for Forwarded (RFC 7239).
    pub forwarded: ForwardedFor,
    /// Peers whose X-Forwarded-* and Forwarded headers are trusted and appended to, regardless of the rules
    /// above; only `remove` also removes theirs.
    pub trusted: Vec<IpNet>,
    /// Headers to remove from all client requests, from trusted peers too. Case is ignored and `_` equals
    /// `-`; a trailing `*` matches any rest. X-VOMS-* and X-Remote-User are removed even if they are not
    /// listed. These headers are refused in trailers.
    pub identity_headers: Vec<String>,
    /// Pseudonym in `Via: 1.1 NAME`; none = no Via header.
    pub via: Option<String>,
    /// Rule for request ids; none = no ids.
    pub request_id: Option<RequestIdRule>,
}

/// The treatment of a forwarding header.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ForwardedFor {
    /// Replaces the client's lines by what Weir observed; appends to a trusted peer's lines.
    #[default]
    Set,
    /// Always appends to the addresses. Replaces X-Forwarded-Proto and -Host of an untrusted peer, because
    /// they are not lists.
    Append,
    /// Forwards the lines unchanged.
    Pass,
    /// Removes the lines.
    Remove,
}

/// The rule for request ids.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RequestIdRule {
    /// Header with the id, in requests to servers and in responses to clients.
    pub header: String,
    /// True to keep a client's own id, if it is 1 to 128 visible ASCII characters; otherwise Weir creates
    /// one.
    pub accept: bool,
}
