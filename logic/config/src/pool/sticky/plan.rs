//! Valid settings of sticky sessions.

use serde::Serialize;
use weir_http::CookieAttributes;
use weir_model::Millis;

use crate::common::secret::SecretPlace;

/// Sticky sessions: each client stays at its first server (`[pool.NAME.sticky]`).
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct StickyPlan {
    /// Means to recognize a client.
    pub by: StickyBy,
    /// Action if the client's server is not available or has failed the request.
    pub when_gone: WhenGone,
    /// Action if the client's server is at its limit.
    pub when_busy: WhenBusy,
}

/// Means to recognize a client.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum StickyBy {
    /// A cookie that names the server.
    Cookie(Box<StickyCookie>),
    /// A session id that the server issues.
    Learn(StickyLearn, StickyTablePlan),
    /// The client's address.
    Source(StickySource, StickyTablePlan),
    /// The value of a CEL expression.
    Expression(String, StickyTablePlan),
}

/// Settings of a cookie that names the server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct StickyCookie {
    /// Its name.
    pub name: String,
    /// Owner of the cookie.
    pub mode: CookieMode,
    /// Encoding of the server in the cookie.
    pub value: CookieValue,
    /// Source of the secret for cookie values; the plan does not contain the secret.
    pub key: Option<SecretPlace>,
    /// Attributes for browsers; only for [`CookieMode::Insert`].
    pub attributes: CookieAttributes,
    /// True if the cookie is sent only over TLS; `None` = if the client uses TLS.
    pub secure: Option<bool>,
    /// True if shared caches must not store a response that sets the cookie.
    pub no_cache: bool,
    /// Maximum time between two uses of the cookie.
    pub idle_max: Option<Millis>,
    /// Maximum age of the cookie since it was first set.
    pub life_max: Option<Millis>,
}

/// Owner of the cookie that names the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum CookieMode {
    /// Weir's own cookie; servers never see it.
    Insert,
    /// The server's cookie; Weir puts its value before that of the server.
    Prefix,
    /// The server's cookie; Weir replaces its value.
    Rewrite,
}

/// Encoding of a server in a cookie.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum CookieValue {
    /// An id derived from the server's name and the key.
    Opaque,
    /// The server's name.
    Plain,
    /// The id, with a signature.
    Signed,
    /// The id, encrypted.
    Encrypted,
}

/// Rules for session ids that servers issue.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct StickyLearn {
    /// Part of a response that contains a new session id.
    pub from: LearnFrom,
    /// Cookie of requests that contains the session id.
    pub cookie: Option<String>,
    /// Header of requests that contains the session id.
    pub header: Option<String>,
    /// Parameter of the query or the path of requests that contains the session id.
    pub url_param: Option<String>,
}

/// Part of a response that contains a new session id.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum LearnFrom {
    /// The cookie with this name.
    Cookie(String),
    /// The header with this name.
    Header(String),
}

/// Prefix lengths; addresses with the same prefix count as one client.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct StickySource {
    /// Prefix length of IPv4 addresses, 1 to 32.
    pub ipv4_prefix: u8,
    /// Prefix length of IPv6 addresses, 1 to 128.
    pub ipv6_prefix: u8,
}

/// Limits of the table of sessions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct StickyTablePlan {
    /// Maximum number of entries, at least 1.
    pub entries_max: u32,
    /// Time after the last use at which an entry expires.
    pub expire: Millis,
}

/// Action for a request whose server is not available or has failed it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum WhenGone {
    /// Sends the request to another server, which becomes the client's server.
    Redispatch,
    /// Responds with 503.
    Fail,
}

/// Action for a request whose server is at its limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum WhenBusy {
    /// Waits for that server, up to the queue timeout.
    Wait,
    /// Sends the request to another server, which becomes the client's server.
    Redispatch,
}

impl StickyBy {
    /// Returns the name in listings.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Cookie(_) => "cookie",
            Self::Learn(..) => "learn",
            Self::Source(..) => "source",
            Self::Expression(..) => "expression",
        }
    }

    /// Returns the limits of the session table; `None` = the client carries the state.
    pub const fn table(&self) -> Option<StickyTablePlan> {
        match self {
            Self::Cookie(_) => None,
            Self::Learn(_, table) | Self::Source(_, table) | Self::Expression(_, table) => Some(*table),
        }
    }
}

impl CookieMode {
    /// Returns the name in the file.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Insert => "insert",
            Self::Prefix => "prefix",
            Self::Rewrite => "rewrite",
        }
    }
}

impl CookieValue {
    /// Returns the name in the file.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Opaque => "opaque",
            Self::Plain => "plain",
            Self::Signed => "signed",
            Self::Encrypted => "encrypted",
        }
    }
}
