//! Clients that are sent on to the servers of a pool.

use serde::Serialize;
use weir_model::{Millis, ServerName};

use crate::common::secret::SecretPlace;

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

impl RedirectPlan {
    /// Whether clients with such a request are sent on. A directory's listing leads where it was got from: nobody is sent
    /// there, since the links have no tickets.
    pub fn is_for(&self, method: &[u8], path: &[u8]) -> bool {
        let is_named = self.methods.iter().any(|one| one.as_bytes() == method);
        is_named && path.starts_with(b"/") && !path.ends_with(b"/")
    }

    /// Where clients reach a server; `None` = only through here.
    pub fn node(&self, server: &str) -> Option<&str> {
        self.nodes.iter().find(|(name, _)| name.as_str() == server).map(|(_, url)| url.as_str())
    }
}
