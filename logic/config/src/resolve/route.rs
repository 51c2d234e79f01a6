//! Resolves routes, and assigns them to listeners.

use std::collections::HashMap;

use weir_http::Action;

use super::pools::{Pools, Traffic, unknown};
use super::storage::Areas;
use crate::listener::read::{ListenerSpec, ModeSpec};
use crate::listener::route::read::{ActionSpec, RouteSpec};
use crate::plan::RoutePlan;
use crate::pool::limits::read::LIMIT_HELP;
use crate::spec::Spec;
use crate::syntax::context::Context;
use crate::syntax::diagnostic::Problem;
use crate::syntax::source::{Located, Span};
use crate::values::subject::Subject;

/// A route of one listener.
pub(super) struct Placed {
    /// Index among the `[[route]]` tables; `None` = the listener's own pool.
    pub(super) index: Option<usize>,
    pub(super) span: Span,
    /// Name in messages.
    pub(super) what: String,
    /// `false` if the route lacks an invalid condition. Such a route matches more than it should, so it does
    /// not count as hiding others.
    pub(super) is_as_written: bool,
    pub(super) plan: RoutePlan,
}

/// Returns the routes of each listener, in the order of the file.
pub(super) fn by_listener(
    cx: &Context<'_>,
    pools: &mut Pools,
    areas: &mut Areas,
    spec: &Spec,
) -> Vec<Vec<Placed>> {
    let mut placed: Vec<Vec<Placed>> = spec.listeners.iter().map(|_| Vec::new()).collect();
    let indices = spec.listeners.iter().enumerate();
    let indices = indices.map(|(index, listener)| (listener.name.value.as_str(), index)).collect();
    check_names(cx, &spec.routes);
    for (index, route) in spec.routes.iter().enumerate() {
        let listeners = listeners_of(cx, &spec.listeners, &indices, route);
        let of_route: Vec<_> = listeners.iter().filter_map(|index| spec.listeners.get(*index)).collect();
        super::paths::check(cx, route, &of_route);
        let Some(plan) = plan(cx, pools, areas, route) else { continue };
        for listener in listeners {
            placed[listener].push(Placed {
                index: Some(index),
                span: route.span,
                what: route.subject.to_string(),
                is_as_written: route.matches_as_written,
                plan: plan.clone(),
            });
        }
    }
    placed
}

fn check_names(cx: &Context<'_>, routes: &[RouteSpec]) {
    let mut places = HashMap::new();
    for route in routes {
        if let Some(first) = places.insert(route.name.value.as_str(), route.name.span) {
            let problem =
                Problem::error(route.name.span, format!("two routes are named {}", route.name.value));
            cx.report(problem.label("again").also(first, "first here"));
        }
    }
}

fn listeners_of(
    cx: &Context<'_>,
    listeners: &[ListenerSpec],
    indices: &HashMap<&str, usize>,
    route: &RouteSpec,
) -> Vec<usize> {
    let is_http = |listener: &ListenerSpec| matches!(listener.mode, ModeSpec::Http { .. });
    let Some(names) = &route.listeners else {
        let all: Vec<usize> = (0..listeners.len()).filter(|index| is_http(&listeners[*index])).collect();
        if all.is_empty() && !cx.is_incomplete() {
            cx.error(route.span, format!("{}: there is no HTTP listener for it", route.subject));
        }
        return all;
    };
    let mut found = Vec::new();
    for name in names {
        match indices.get(name.value.as_str()).copied() {
            Some(index) if !is_http(&listeners[index]) => {
                cx.report(tcp_listener(&route.subject, name, &listeners[index]));
            }
            Some(index) if found.contains(&index) => {
                cx.error(name.span, format!("{}: listener {} is there twice", route.subject, name.value));
            }
            Some(index) => found.push(index),
            None if cx.is_incomplete() => {}
            None => {
                let names = listeners.iter().map(|listener| listener.name.value.as_str());
                cx.report(unknown(cx, &route.subject, "listener", name, names));
            }
        }
    }
    found
}

fn tcp_listener(subject: &Subject, name: &Located<String>, listener: &ListenerSpec) -> Problem {
    let message = format!("{subject}: listener {} speaks TCP and has no requests to route", name.value);
    let problem = Problem::error(name.span, message).also(listener.name.span, "this listener");
    problem.help("choose by TLS server name with sni in the listener, or set mode = \"http\"")
}

fn plan(cx: &Context<'_>, pools: &mut Pools, areas: &mut Areas, route: &RouteSpec) -> Option<RoutePlan> {
    let action = match route.action.as_ref()? {
        ActionSpec::Pool(name) => {
            let pool = pools.find(cx, &route.subject, name, Traffic::Http)?;
            if let (Some(at), Some(problem)) = (route.priority_at, pools.never_queues(pool)) {
                let message = format!("{}: no effect: {problem}", route.subject.key("priority"));
                cx.report(Problem::warning(at, message).help(LIMIT_HELP));
            }
            if let (Some(at), true) = (route.rewrite_at, pools.redirects(pool)) {
                let message = format!(
                    "{}: pool {} sends clients on to its servers, which get the path as it came",
                    route.subject.key("rewrite"),
                    name.value
                );
                cx.error(at, message);
            }
            Action::Pool(pool)
        }
        ActionSpec::Storage(name) => Action::Storage(areas.find(cx, &route.subject, name)?),
        ActionSpec::Redirect(redirect) => Action::Redirect(redirect.clone()),
        ActionSpec::Respond(response) => Action::Respond(response.clone()),
    };
    Some(RoutePlan {
        name: route.name.value.clone(),
        origin: cx.map.origin(route.span),
        matches: route.matches.clone(),
        action,
        rewrite: route.rewrite.clone(),
        headers: route.headers.clone(),
        priority: route.priority.clone(),
        body_bytes_max: route.body_bytes_max,
    })
}
