//! Header rules of a route.

use serde::{Deserialize, Serialize};

/// A change of one header in forwarded requests or responses.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HeaderRule {
    /// Header name (RFC 9110 section 5.1); case is ignored.
    pub name: String,
    /// Change of the header.
    pub action: HeaderAction,
}

/// The action of a [`HeaderRule`]. A value may contain these variables; `{{` and `}}` stand for braces:
///
/// - `{client_ip}`, `{client_port}`;
/// - `{host}` (without port), `{path}`, `{query}` (without `?`), `{uri}` (the path, with `?` and the query if
///   there is one), `{method}`, `{scheme}`;
/// - `{listener}`, `{route}`, `{pool}`, `{server}`, `{request_id}`;
/// - `{tls_version}`, `{tls_cipher}`, `{tls_sni}`, `{tls_client_subject}`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum HeaderAction {
    /// Replaces all lines with the name by one.
    Set(String),
    /// Adds a line.
    Add(String),
    /// Removes all lines with the name.
    Remove,
}
