use std::path::PathBuf;

use serde::Serialize;
use weir_model::{Millis, ServerName};

/// Clients are sent on to a pool's servers themselves (`redirect = ...`).
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RedirectPlan {
    /// Requests with these methods; at least one.
    pub methods: Vec<String>,
    /// Where clients reach a server, `https://host:port`; requests for servers that are not in here are proxied.
    pub nodes: Vec<(ServerName, String)>,
    /// Where the secret is that tickets are made with; the secret itself is in no plan.
    pub key: SecretPlace,
    /// For how long a ticket counts.
    pub lifetime: Millis,
}

/// Where a secret is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum SecretPlace {
    /// In a file.
    File(PathBuf),
    /// In an environment variable.
    Env(String),
}
