//! The configuration of routes: match conditions and actions. Types only; the module `routing` does the
//! matching.

use ipnet::IpNet;
use serde::{Deserialize, Serialize};
use weir_model::Name;

use crate::HeaderRule;

/// The conditions of a route. Every group that is not empty must match. Within a group one entry is enough,
/// except in `headers`, where all entries must match.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct RouteMatch {
    /// Hosts, without port; case is ignored.
    pub hosts: Vec<HostPattern>,
    /// Paths, without query, normalised by the listener's [`crate::PathRules`].
    pub paths: Vec<PathPattern>,
    /// Methods; case matters (RFC 9110 section 9.1).
    pub methods: Vec<String>,
    /// Conditions on header lines.
    pub headers: Vec<HeaderMatch>,
    /// Networks of the client's address, after PROXY protocol and trusted forwarding headers.
    pub clients: Vec<IpNet>,
    /// CEL expression that must be true.
    pub expression: Option<String>,
}

/// A pattern for hosts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum HostPattern {
    /// Exactly this host, in lower case.
    Exact(String),
    /// `*.example.org`: one or more labels before this suffix (with its leading dot, in lower case).
    Wildcard(String),
}

/// A pattern for paths.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PathPattern {
    /// Exactly this path.
    Exact(String),
    /// A prefix: `/sa` matches `/sa` and `/sa/...`, but not `/sab`; `/sa/` matches every path that begins
    /// with it.
    Prefix(String),
    /// A glob: `*` matches any characters except `/`, `**` any characters, `?` one character except `/`. At
    /// most 255 characters.
    Glob(String),
}

/// A condition on a header.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HeaderMatch {
    /// Header name; case is ignored.
    pub name: String,
    /// Test for the lines with this name.
    pub test: HeaderTest,
}

/// A test of the lines of a header.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum HeaderTest {
    /// At least one line exists.
    Present,
    /// No line exists.
    Absent,
    /// A line has exactly this value.
    Exact(String),
    /// A line's value contains this text.
    Contains(String),
}

/// The action of a route.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Action {
    /// Sends the request to the pool at this index in the plan.
    Pool(usize),
    /// Serves the request from the storage area with this name.
    Storage(Name),
    /// Responds with a redirect.
    Redirect(RedirectRule),
    /// Responds with a fixed response.
    Respond(FixedResponse),
}

impl Action {
    /// Returns true if the route denies requests. Such a route also applies to requests for which its
    /// expression fails.
    pub fn denies(&self) -> bool {
        matches!(self, Self::Respond(response) if response.denies())
    }
}

/// A redirect.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RedirectRule {
    /// Status: 301, 302, 303, 307 or 308.
    pub status: u16,
    /// Location header, with the variables of [`crate::HeaderAction`].
    pub location: String,
}

/// A fixed response.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FixedResponse {
    /// Status, 200 to 599.
    pub status: u16,
    /// Content-Type, if there is a body.
    pub content_type: String,
    /// The body.
    pub body: String,
}

impl FixedResponse {
    /// Returns true if the response is an error, which denies the request.
    pub fn denies(&self) -> bool {
        self.status >= 400
    }
}

/// A change of the path before the request goes to a server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PathRewrite {
    /// Replaces the prefix `from` (in the sense of [`PathPattern::Prefix`]) by `to`, with one slash between
    /// `to` and the rest. Rewrites `Destination` and `If` likewise, and maps `Location` and
    /// `Content-Location` of responses back.
    Prefix {
        /// Prefix to replace.
        from: String,
        /// New prefix.
        to: String,
    },
    /// Replaces the whole path; keeps the query.
    Full(String),
}

/// The header rules of a route.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct RouteHeaders {
    /// Rules for requests; applied after Weir's own forwarding headers.
    pub request: Vec<HeaderRule>,
    /// Rules for responses.
    pub response: Vec<HeaderRule>,
}
