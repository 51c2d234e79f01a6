//! Valid settings of sticky sessions.

use serde::Serialize;
use weir_http::CookieAttributes;
use weir_model::Millis;

use crate::common::secret::SecretPlace;

/// Keeps a client with the server it has begun with (`[pool.NAME.sticky]`).
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct StickyPlan {
    /// What a client is known by.
    pub by: StickyBy,
    /// When its server takes nothing, or has failed the request.
    pub when_gone: WhenGone,
    /// When its server is at its limit.
    pub when_busy: WhenBusy,
}

/// What a client is known by.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum StickyBy {
    /// By a cookie that names the server.
    Cookie(Box<StickyCookie>),
    /// By a session that the server has given out.
    Learn(StickyLearn, StickyTablePlan),
    /// By its address.
    Source(StickySource, StickyTablePlan),
    /// By the value of a CEL expression.
    Expression(String, StickyTablePlan),
}

/// A cookie that names the server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct StickyCookie {
    /// Its name.
    pub name: String,
    /// Whose cookie it is.
    pub mode: CookieMode,
    /// How it names the server.
    pub value: CookieValue,
    /// Where the secret is that values are made with; the secret itself is in no plan.
    pub key: Option<SecretPlace>,
    /// What browsers are told; for [`CookieMode::Insert`].
    pub attributes: CookieAttributes,
    /// Only sent over TLS; `None` = if the client came over TLS.
    pub secure: Option<bool>,
    /// No shared cache may keep a response that sets it.
    pub no_cache: bool,
    /// Unused for longer, it no longer counts.
    pub idle_max: Option<Millis>,
    /// First set longer ago, it no longer counts.
    pub life_max: Option<Millis>,
}

/// Whose cookie names the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum CookieMode {
    /// Weir's own; servers never see it.
    Insert,
    /// The server's, with Weir's value before its own.
    Prefix,
    /// The server's, with Weir's value instead of its own.
    Rewrite,
}

/// How a cookie names a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum CookieValue {
    /// By an id worked out from name and key.
    Opaque,
    /// By its name.
    Plain,
    /// By the id, with a signature.
    Signed,
    /// So that nothing can be read.
    Encrypted,
}

/// A session that a server has given out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct StickyLearn {
    /// Where responses give it out.
    pub from: LearnFrom,
    /// The cookie in which requests carry it.
    pub cookie: Option<String>,
    /// The header in which requests carry it.
    pub header: Option<String>,
    /// The parameter of query or path in which requests carry it.
    pub url_param: Option<String>,
}

/// Where a response gives out a session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum LearnFrom {
    /// In a cookie of this name.
    Cookie(String),
    /// In a header of this name.
    Header(String),
}

/// Which addresses count as one client.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct StickySource {
    /// Bits of an IPv4 address that count, 1 to 32.
    pub ipv4_prefix: u8,
    /// Bits of an IPv6 address that count, 1 to 128.
    pub ipv6_prefix: u8,
}

/// What is remembered, and for how long.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct StickyTablePlan {
    /// Entries at most, at least 1.
    pub entries_max: u32,
    /// What was not seen for so long is forgotten.
    pub expire: Millis,
}

/// What becomes of a request whose server takes nothing, or has failed it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum WhenGone {
    /// Another server gets it, and the client stays there.
    Redispatch,
    /// It is answered 503.
    Fail,
}

/// What becomes of a request whose server is at its limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum WhenBusy {
    /// It waits for that server, as long as requests may wait.
    Wait,
    /// Another server gets it, and the client stays there.
    Redispatch,
}

impl StickyBy {
    /// The name in listings.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Cookie(_) => "cookie",
            Self::Learn(..) => "learn",
            Self::Source(..) => "source",
            Self::Expression(..) => "expression",
        }
    }

    /// What is remembered; `None` = the client carries it.
    pub const fn table(&self) -> Option<StickyTablePlan> {
        match self {
            Self::Cookie(_) => None,
            Self::Learn(_, table) | Self::Source(_, table) | Self::Expression(_, table) => Some(*table),
        }
    }
}

impl CookieMode {
    /// The name in the file.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Insert => "insert",
            Self::Prefix => "prefix",
            Self::Rewrite => "rewrite",
        }
    }
}

impl CookieValue {
    /// The name in the file.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Opaque => "opaque",
            Self::Plain => "plain",
            Self::Signed => "signed",
            Self::Encrypted => "encrypted",
        }
    }
}
