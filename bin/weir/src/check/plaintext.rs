//! Warns of passwords and tokens that cross a network without TLS.

use weir_config::plan::{AreaPlan, HttpPlan, LeasePlan, ListenerPlan, Mode};
use weir_config::{Diagnostic, Loaded, Plan};
use weir_http::Action;
use weir_model::{BindAddress, ServerAddress};

/// Warns of listeners and stores that receive credentials in plaintext.
pub(super) fn check(loaded: &Loaded) -> Vec<Diagnostic> {
    let plan = &loaded.plan;
    let mut found = Vec::new();
    for listener in &plan.listeners {
        let Mode::Http(http) = &listener.mode else { continue };
        if listener.tls.is_some() || !is_reached_by_strangers(listener, http) {
            continue;
        }
        for area in areas(plan, http) {
            let Some(what) = credentials(area) else { continue };
            let (name, area) = (listener.name.as_str(), &area.name);
            let message =
                format!("listener {name}: no TLS: clients of storage area {area} send {what} in plaintext");
            let mut warning = loaded.warning_at(&["listener", name], message);
            let help = "add tls = { certificates = ... }, or bind to loopback behind a proxy that ends TLS";
            warning.help = Some(help.to_owned());
            found.push(warning);
        }
    }
    for fleet in &plan.fleets {
        let LeasePlan::Store(store) = &fleet.lease else { continue };
        if store.password.is_some() && store.tls.is_none() && !store.addresses.iter().all(is_local) {
            let name = fleet.name.as_str();
            let message =
                format!("fleet {name}: lease: the password goes to the {} in plaintext", store.kind.name());
            let mut warning = loaded.warning_at(&["fleet", name, "lease"], message);
            warning.help = Some("add tls = true".to_owned());
            found.push(warning);
        }
    }
    found
}

/// Returns true if clients connect to the listener from other machines, and not through a trusted proxy.
fn is_reached_by_strangers(listener: &ListenerPlan, http: &HttpPlan) -> bool {
    let has_proxy_in_front = listener.proxy_protocol.is_some() || !http.forwarding.trusted.is_empty();
    let is_open = |bind: &BindAddress| match bind {
        BindAddress::Inet(address) => !address.ip().to_canonical().is_loopback(),
        BindAddress::Unix(_) => false,
    };
    !has_proxy_in_front && listener.bind.iter().any(is_open)
}

/// Returns the areas that the listener's routes lead to, each once.
fn areas<'p>(plan: &'p Plan, http: &'p HttpPlan) -> impl Iterator<Item = &'p AreaPlan> {
    let leads_to = |area: &AreaPlan| {
        http.routes.iter().any(|route| matches!(&route.action, Action::Storage(name) if *name == area.name))
    };
    plan.storage_areas.iter().filter(move |area| leads_to(area))
}

/// Returns the kinds of credentials that the area takes.
fn credentials(area: &AreaPlan) -> Option<&'static str> {
    let has_tokens = !area.access.issuers.is_empty() || area.token_endpoint.is_some();
    match (area.htpasswd.is_some(), has_tokens) {
        (true, true) => Some("passwords and tokens"),
        (true, false) => Some("passwords"),
        (false, true) => Some("tokens"),
        (false, false) => None,
    }
}

fn is_local(address: &ServerAddress) -> bool {
    match address {
        ServerAddress::Inet(address) => address.ip().to_canonical().is_loopback(),
        ServerAddress::Unix(_) => true,
        ServerAddress::Named(name) => &*name.host == "localhost",
    }
}
