use serde::{Deserialize, Serialize};

/// Changes one header of a request or response that passes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HeaderRule {
    /// A field name (RFC 9110 section 5.1); compared without case.
    pub name: String,
    /// What happens to it.
    pub action: HeaderAction,
}

/// What a [`HeaderRule`] does. Values may hold `{client_ip}`, `{client_port}`, `{host}` (without port), `{path}`,
/// `{query}` (without `?`), `{uri}` (the path, and `?` and query if there is one), `{method}`, `{scheme}`, `{listener}`, `{route}`, `{pool}`, `{server}`, `{request_id}`, `{tls_version}`,
/// `{tls_cipher}`, `{tls_sni}`, `{tls_client_subject}`. `{{` and `}}` stand for braces.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum HeaderAction {
    /// Replaces every line of that name by one.
    Set(String),
    /// Adds a line.
    Add(String),
    /// Removes every line of that name.
    Remove,
}
