//! Resolves listeners, with the routes that belong to them.

use weir_http::{Action, RouteHeaders, RouteMatch};

use super::pools::{Pools, Traffic};
use super::route::Placed;
use super::storage::Areas;
use super::unreachable;
use crate::listener::read::{ListenerSpec, ModeSpec, SniSpec};
use crate::plan::{HttpPlan, ListenerPlan, Mode, Priority, RoutePlan, SniRoute, TcpPlan};
use crate::syntax::context::Context;
use crate::syntax::diagnostic::Problem;
use crate::values::subject::Subject;

/// Resolves the listeners with their routes. `routes` has one list for each listener.
pub(super) fn resolve(
    cx: &Context<'_>,
    pools: &mut Pools,
    areas: &mut Areas,
    specs: Vec<ListenerSpec>,
    mut routes: Vec<Vec<Placed>>,
) -> Vec<ListenerPlan> {
    for (spec, routes) in specs.iter().zip(&mut routes) {
        routes.extend(own_route(cx, pools, areas, spec));
    }
    unreachable::check(cx, &routes);
    let pairs = specs.into_iter().zip(routes);
    pairs.map(|(spec, routes)| listener(cx, pools, spec, routes)).collect()
}

/// Returns the listener's own `pool` or `storage` as its last route.
fn own_route(cx: &Context<'_>, pools: &mut Pools, areas: &mut Areas, spec: &ListenerSpec) -> Option<Placed> {
    if !matches!(spec.mode, ModeSpec::Http { .. }) {
        return None;
    }
    let subject = Subject::default().named("listener", spec.name.value.as_str());
    let (key, name, action) = match (&spec.pool, &spec.storage) {
        (Some(name), _) => ("pool", name, Action::Pool(pools.find(cx, &subject, name, Traffic::Http)?)),
        (None, Some(name)) => ("storage", name, Action::Storage(areas.find(cx, &subject, name)?)),
        (None, None) => return None,
    };
    Some(Placed {
        index: None,
        span: name.span,
        what: subject.key(key).to_string(),
        is_as_written: true,
        plan: RoutePlan {
            name: spec.name.value.clone(),
            origin: cx.map.origin(name.span),
            matches: RouteMatch::default(),
            action,
            rewrite: None,
            headers: RouteHeaders::default(),
            priority: Priority::default(),
            body_bytes_max: None,
        },
    })
}

fn listener(cx: &Context<'_>, pools: &mut Pools, spec: ListenerSpec, routes: Vec<Placed>) -> ListenerPlan {
    let subject = Subject::default().named("listener", spec.name.value.as_str());
    let leads_nowhere = match &spec.mode {
        ModeSpec::Http { .. } => routes.is_empty(),
        ModeSpec::Tcp { sni, .. } => sni.is_empty(),
    };
    if leads_nowhere && !spec.leads_somewhere && !cx.is_incomplete() {
        let message = format!("{subject}: neither a pool nor a route takes what it accepts");
        cx.report(Problem::error(spec.name.span, message).help("add pool = \"NAME\""));
    }
    let mode = match spec.mode {
        ModeSpec::Http { timeouts, limits, paths, forwarding, keep_alive_requests_max, half_close } => {
            Mode::Http(HttpPlan {
                routes: routes.into_iter().map(|placed| placed.plan).collect(),
                timeouts,
                limits,
                paths,
                forwarding,
                keep_alive_requests_max,
                half_close,
            })
        }
        ModeSpec::Tcp { sni, idle_timeout, head_timeout } => Mode::Tcp(TcpPlan {
            sni_routes: sni.into_iter().filter_map(|sni| sni_route(cx, pools, &subject, sni)).collect(),
            pool: spec.pool.as_ref().and_then(|name| pools.find(cx, &subject, name, Traffic::Tcp)),
            idle_timeout,
            head_timeout,
        }),
    };
    ListenerPlan {
        name: spec.name.value,
        bind: spec.bind.into_iter().map(|bind| bind.value).collect(),
        tls: spec.tls,
        proxy_protocol: spec.proxy_protocol,
        connections_max: spec.connections_max,
        connections_per_client_max: spec.connections_per_client_max,
        backlog: spec.backlog,
        mode,
    }
}

fn sni_route(cx: &Context<'_>, pools: &mut Pools, subject: &Subject, sni: SniSpec) -> Option<SniRoute> {
    let pool = pools.find(cx, &subject.key("sni"), sni.pool.as_ref()?, Traffic::Tcp)?;
    Some(SniRoute { hosts: sni.hosts, pool })
}
