//! Valid settings of redirects to the servers of a pool.

use serde::Serialize;
use weir_model::{Millis, ServerName};

use crate::common::secret::SecretPlace;

/// Redirects of clients to the servers of a pool (`redirect = ...`).
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RedirectPlan {
    /// Methods of redirected requests; at least one.
    pub methods: Vec<String>,
    /// Public URL of each server, `https://host:port`. Weir proxies requests for servers that are not in this
    /// list.
    pub nodes: Vec<(ServerName, String)>,
    /// Source of the secret that signs tickets; the plan does not contain the secret.
    pub key: SecretPlace,
    /// Validity of a ticket.
    pub lifetime: Millis,
}

impl RedirectPlan {
    /// Returns true if Weir redirects such a request. It never redirects directory listings, because the
    /// links in them have no tickets.
    pub fn is_for(&self, method: &[u8], path: &[u8]) -> bool {
        let is_named = self.methods.iter().any(|one| one.as_bytes() == method);
        is_named && path.starts_with(b"/") && !path.ends_with(b"/")
    }

    /// Returns the public URL of a server; `None` = clients reach it only through Weir.
    pub fn node(&self, server: &str) -> Option<&str> {
        self.nodes.iter().find(|(name, _)| name.as_str() == server).map(|(_, url)| url.as_str())
    }
}
