//! Warns of token endpoints that no request can reach.

use weir_config::plan::{HttpPlan, Mode, TokenEndpointPlan};
use weir_config::{Diagnostic, Loaded, Plan};
use weir_http::{Action, PathSet, RouteMatch};

/// Warns of endpoints that areas name but no route leads to.
pub(super) fn check(loaded: &Loaded) -> Vec<Diagnostic> {
    let plan = &loaded.plan;
    let named = |endpoint: &&TokenEndpointPlan| {
        plan.storage_areas.iter().any(|area| area.token_endpoint.as_ref() == Some(&endpoint.name))
    };
    let unreached = plan.token_endpoints.iter().filter(named).filter(|endpoint| !is_reached(plan, endpoint));
    unreached
        .map(|endpoint| {
            let TokenEndpointPlan { name, issuer, path, .. } = endpoint;
            let message = format!(
                "token endpoint {name}: no route leads POST {path} at the host of {issuer} to a storage area that names it"
            );
            loaded.warning_at(&["token-endpoint", name.as_str()], message)
        })
        .collect()
}

/// Returns true if a request for a token may reach an area with this endpoint. Conditions other than host,
/// path and method count as possible.
fn is_reached(plan: &Plan, endpoint: &TokenEndpointPlan) -> bool {
    plan.listeners.iter().any(|listener| match &listener.mode {
        Mode::Http(http) => is_reached_at(plan, http, endpoint),
        Mode::Tcp(_) => false,
    })
}

fn is_reached_at(plan: &Plan, http: &HttpPlan, endpoint: &TokenEndpointPlan) -> bool {
    for route in http.routes.iter().filter(|route| may_take(&route.matches, http, endpoint)) {
        let is_own = match &route.action {
            Action::Storage(name) => plan.storage_areas.iter().any(|area| {
                area.name.as_str() == name.as_str() && area.token_endpoint.as_ref() == Some(&endpoint.name)
            }),
            Action::Pool(_) | Action::Redirect(_) | Action::Respond(_) => false,
        };
        if is_own {
            return true;
        }
        if takes_all(&route.matches) {
            return false;
        }
    }
    false
}

/// Returns true if hosts, paths and methods of the route match the endpoint.
fn may_take(matches: &RouteMatch, http: &HttpPlan, endpoint: &TokenEndpointPlan) -> bool {
    let authority = endpoint.issuer.split("://").nth(1).unwrap_or_default();
    let authority = authority.split('/').next().unwrap_or_default().to_ascii_lowercase();
    let host = match authority.rsplit_once(':') {
        Some((host, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => host,
        _ => &authority,
    };
    let is_host =
        matches.hosts.is_empty() || matches.hosts.iter().any(|there| there.matches(host.as_bytes()));
    let is_path = matches.paths.is_empty()
        || PathSet::compile(&matches.paths, http.paths.as_ref())
            .is_ok_and(|paths| paths.matches(endpoint.path.as_bytes()));
    is_host
        && is_path
        && (matches.methods.is_empty() || matches.methods.iter().any(|method| method == "POST"))
}

/// Returns true if the route has no other conditions.
fn takes_all(matches: &RouteMatch) -> bool {
    matches.headers.is_empty() && matches.clients.is_empty() && matches.expression.is_none()
}
