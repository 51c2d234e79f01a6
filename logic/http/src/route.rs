//! Route match: which requests a route takes, and what it does with them. Types only; [`crate`] matches.

use ipnet::IpNet;
use serde::{Deserialize, Serialize};
use weir_model::Name;

use crate::HeaderRule;

/// What a request must be like. Every group that is not empty must match; within a group one entry suffices, but of
/// `headers`, which all must.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct RouteMatch {
    /// Host, without port and case.
    pub hosts: Vec<HostPattern>,
    /// Path, without query, normalised by the listener's [`crate::PathRules`].
    pub paths: Vec<PathPattern>,
    /// Method, case-sensitive (RFC 9110 section 9.1).
    pub methods: Vec<String>,
    /// Header lines.
    pub headers: Vec<HeaderMatch>,
    /// The client's address, after PROXY protocol and trusted forwarding headers.
    pub clients: Vec<IpNet>,
    /// A CEL expression that must yield true.
    pub expression: Option<String>,
}

/// A host to match.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum HostPattern {
    /// That host, in lower case.
    Exact(String),
    /// `*.example.org`: one or more labels before this suffix (kept with its leading dot, in lower case).
    Wildcard(String),
}

/// A path to match.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PathPattern {
    /// That path.
    Exact(String),
    /// `/sa` matches `/sa` and `/sa/...`, never `/sab`; `/sa/` matches what begins with it.
    Prefix(String),
    /// `*` any characters but `/`, `**` any characters, `?` one character but `/`. At most 255 characters.
    Glob(String),
}

/// A header line to match.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HeaderMatch {
    /// A field name; compared without case.
    pub name: String,
    /// What a line of that name must satisfy.
    pub test: HeaderTest,
}

/// What a header line must satisfy.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum HeaderTest {
    /// A line is there.
    Present,
    /// No line is there.
    Absent,
    /// A line has exactly this value.
    Exact(String),
    /// A line's value contains this.
    Contains(String),
}

/// What a route does with its requests.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Action {
    /// Sends them to the pool of this index in the plan.
    Pool(usize),
    /// Answers from the storage area of this name.
    Storage(Name),
    /// Answers with a redirect.
    Redirect(RedirectRule),
    /// Answers with a fixed response.
    Respond(FixedResponse),
}

impl Action {
    /// Returns whether the route denies requests. Such a route also takes requests for which its expression fails.
    pub fn denies(&self) -> bool {
        matches!(self, Self::Respond(response) if response.denies())
    }
}

/// A redirect.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RedirectRule {
    /// 301, 302, 303, 307 or 308.
    pub status: u16,
    /// The Location, with the variables of [`crate::HeaderAction`].
    pub location: String,
}

/// A fixed response.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FixedResponse {
    /// 200 to 599.
    pub status: u16,
    /// Content-Type, if there is a body.
    pub content_type: String,
    /// The body.
    pub body: String,
}

impl FixedResponse {
    /// Returns whether it denies requests: it is an error.
    pub fn denies(&self) -> bool {
        self.status >= 400
    }
}

/// Changes the path before the request goes to a server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PathRewrite {
    /// Replaces a leading `from` (matched as [`PathPattern::Prefix`]) by `to`, with one slash between `to` and the rest.
    /// `Destination` and `If` follow; `Location` and `Content-Location` of responses are mapped back.
    Prefix {
        /// What the path begins with.
        from: String,
        /// What it begins with afterwards.
        to: String,
    },
    /// Replaces the whole path; the query stays.
    Full(String),
}

/// Changes to headers on the way in and out.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct RouteHeaders {
    /// On requests, after Weir's own forwarding headers.
    pub request: Vec<HeaderRule>,
    /// On responses.
    pub response: Vec<HeaderRule>,
}
