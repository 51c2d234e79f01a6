//! Explains whether a client is bound to a server, as far as the request alone determines it.

use std::time::{SystemTime, UNIX_EPOCH};

use serde::Serialize;
use weir_config::plan::{CookieMode, PoolPlan, StickyBy, StickyCookie};
use weir_http::expression::{Expression, ExpressionUse};
use weir_http::{PREFIX_END, RouteRequest, cookies_named};
use weir_model::ServerName;
use weir_proxy::sticky::{Seal, Secret, read_secret};

/// Stickiness of a request.
#[derive(Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) struct StickyAnswer {
    /// Method by which the pool recognizes clients.
    pub(super) method: &'static str,
    /// Result for this request, in words.
    pub(super) finding: String,
    /// Server that the client is bound to, if the request says so.
    pub(super) server: Option<String>,
}

/// Explains the stickiness of a request. Returns `None` if the pool is not sticky. Without a `request` it
/// explains a connection of which only the address is known.
pub(super) fn explain(pool: &PoolPlan, request: Option<&RouteRequest<'_>>) -> Option<StickyAnswer> {
    let by = &pool.sticky.as_ref()?.by;
    let mut server = None;
    let finding = match (by, request) {
        (StickyBy::Source(..), _) | (_, None) => {
            "the client's address decides, if the running Weir has seen it before".to_owned()
        }
        (StickyBy::Cookie(cookie), Some(request)) => match read_secret(pool) {
            Ok(secret) => {
                let (finding, found) = cookie_finding(pool, cookie, secret.as_ref(), request);
                server = found;
                finding
            }
            Err(cause) => format!("cookies cannot be read: {cause}"),
        },
        (StickyBy::Learn(..), _) => {
            "the session decides, if the running Weir has seen who gave it out".to_owned()
        }
        (StickyBy::Expression(text, _), Some(request)) => {
            let expression = Expression::compile(text, ExpressionUse::Key).ok();
            let value = expression.and_then(|expression| expression.evaluate_key(request));
            match value {
                Some(value) => format!(
                    "the value {:?} decides, if the running Weir has seen it before",
                    String::from_utf8_lossy(&value)
                ),
                None => "the expression has no value here: the client is not sticky".to_owned(),
            }
        }
    };
    Some(StickyAnswer { method: by.name(), finding, server: server.map(|server| server.to_string()) })
}

fn cookie_finding(
    pool: &PoolPlan,
    cookie: &StickyCookie,
    secret: Option<&Secret>,
    request: &RouteRequest<'_>,
) -> (String, Option<ServerName>) {
    let seal = Seal::new(cookie, &pool.name, secret);
    let now_s = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    let mut is_there = false;
    for value in cookies_named(request.buf, request.headers, cookie.name.as_bytes()) {
        is_there = true;
        let value = match cookie.mode {
            CookieMode::Prefix => value.split(|byte| *byte == PREFIX_END).next().unwrap_or_default(),
            CookieMode::Insert | CookieMode::Rewrite => value,
        };
        let Some(opened) = seal.open(value, now_s) else { continue };
        if let Some(server) = pool.servers.iter().find(|server| seal.id(&server.name) == opened.id) {
            return (format!("cookie {} names {}", cookie.name, server.name), Some(server.name.clone()));
        }
    }
    let finding = match is_there {
        true => "names no server: forged, outdated, or made with another secret",
        false => "is not there: a new client",
    };
    (format!("cookie {} {finding}", cookie.name), None)
}
