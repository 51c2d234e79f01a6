//! Redirects clients directly to a server, with a ticket that the server accepts.

use std::fmt;
use std::rc::Rc;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use weir_balance::Key;
use weir_config::plan::{PoolPlan, RedirectPlan, SecretPlace};
use weir_health::BreakerState;
use weir_http::RouteRequest;
use weir_net::Secret;
use weir_net::ticket::{Errand, PARAMETER, Tickets};

use crate::worker::{Choice, LocalPool, Worker};

/// Settings and keys with which a pool redirects clients.
pub struct Redirect {
    plan: RedirectPlan,
    secret: Secret,
    tickets: Tickets,
}

/// A request that may be redirected.
pub(crate) struct Asked<'a> {
    /// The request's method, path, query and client.
    pub(crate) request: &'a RouteRequest<'a>,
    /// Values of its `Authorization` lines.
    pub(crate) authorization: &'a [&'a [u8]],
    /// Key for the pool's algorithm.
    pub(crate) key: Option<Key>,
}

/// Returns the name of the configuration key for this place of a secret.
pub fn key(place: &SecretPlace) -> &'static str {
    match place {
        SecretPlace::File(_) => "key-file",
        SecretPlace::Env(_) => "key-env",
    }
}

impl Redirect {
    /// Creates the redirect of a pool; `None` = the pool does not redirect clients. Blocks on the disk.
    ///
    /// # Errors
    /// If there is no valid secret at the configured place.
    pub(crate) fn make(pool: &PoolPlan) -> Result<Option<Self>, String> {
        let Some(plan) = &pool.redirect else { return Ok(None) };
        let named = |cause: String| format!("redirect.{}: {cause}", key(&plan.key));
        let secret = Secret::read(&plan.key).map_err(named)?;
        let tickets = Tickets::new(&secret).ok_or_else(|| named("no key can be made of it".to_owned()))?;
        Ok(Some(Self { plan: plan.clone(), secret, tickets }))
    }

    /// Returns the URL to redirect the client to. `None` = the request is handled as usual: it waits, is
    /// refused or is forwarded to a server.
    pub(crate) fn location(pool: &Rc<LocalPool>, worker: &Worker, asked: &Asked<'_>) -> Option<Vec<u8>> {
        let redirect = pool.shared.redirect.as_ref()?;
        let RouteRequest { method, forwarded_path: path, query, client, .. } = *asked.request;
        if !redirect.plan.is_for(method, path) {
            return None;
        }
        // A request with two `Authorization` lines goes to the server, which rejects it.
        let (credentials, client) = match (asked.authorization, client?) {
            ([], client) => (None, client),
            ([one], client) => (Some(*one), client),
            _ => return None,
        };
        // A new request must not overtake the waiting ones.
        if pool.shared.queue.length() > 0 || is_open(pool) {
            return None;
        }
        let Choice::Server(lease) = pool.choose(worker, asked.key, &[]) else { return None };
        let server = &lease.server;
        let url = redirect.plan.node(server.shared.name.as_str())?;
        let now_s = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
        let expires_s = now_s.saturating_add(redirect.plan.lifetime.0.div_ceil(1_000));
        let errand = Errand { method, path, client };
        let ticket = redirect.tickets.issue(&errand, credentials, expires_s)?;
        pool.counters().requests.one();
        pool.counters().sent_on.one();
        server.counters().requests.one();
        let query = query.filter(|query| !query.is_empty()).unwrap_or_default();
        let between: &[u8] = if query.is_empty() { b"" } else { b"&" };
        let parts = [url.as_bytes(), path, b"?", query, between, PARAMETER.as_bytes(), b"="];
        let mut location = parts.concat();
        location.extend_from_slice(ticket.as_bytes());
        Some(location)
    }
}

fn is_open(pool: &LocalPool) -> bool {
    pool.shared.plan.breaker.is_some() && pool.shared.breaker.state(Instant::now()) != BreakerState::Closed
}

impl PartialEq for Redirect {
    fn eq(&self, other: &Self) -> bool {
        self.plan == other.plan && self.secret == other.secret
    }
}

impl fmt::Debug for Redirect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Redirect").field("plan", &self.plan).finish_non_exhaustive()
    }
}
