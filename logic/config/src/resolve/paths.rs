//! Checks the paths of routes against the path rules of their listeners.

use std::slice;

use weir_http::{PathPattern, PathRewrite, PathSet, PatternFault, check_pattern};

use crate::common::patterns::path_text;
use crate::listener::read::{ListenerSpec, ModeSpec};
use crate::listener::route::read::RouteSpec;
use crate::syntax::context::Context;
use crate::syntax::diagnostic::Problem;

/// Reports paths of a route that never match, and a rewrite that never applies. `listeners`: those of the
/// route.
pub(super) fn check(cx: &Context<'_>, route: &RouteSpec, listeners: &[&ListenerSpec]) {
    for pattern in &route.matches.paths {
        if listeners.iter().any(|listener| is_too_long(listener, pattern)) {
            let message = format!(
                "{}: {} has more than 255 characters once all are percent-encoded that must be",
                route.subject.key("path"),
                path_text(pattern)
            );
            cx.error(route.span, message);
            continue;
        }
        check_one(cx, route, listeners, "path", pattern);
    }
    if let Some(PathRewrite::Prefix { from, .. }) = &route.rewrite {
        check_one(cx, route, listeners, "rewrite", &PathPattern::Prefix(from.clone()));
    }
}

fn check_one(
    cx: &Context<'_>,
    route: &RouteSpec,
    listeners: &[&ListenerSpec],
    key: &'static str,
    pattern: &PathPattern,
) {
    let faults: Vec<_> =
        listeners.iter().filter_map(|listener| Some((*listener, fault(listener, pattern)?))).collect();
    let Some((listener, fault)) = faults.first() else { return };
    let text = path_text(pattern);
    let name = &listener.name.value;
    let message =
        format!("{}: {text} matches no request of listener {name}: {fault}", route.subject.key(key));
    let problem = match faults.len() == listeners.len() {
        true => Problem::error(route.span, message),
        false => Problem::warning(route.span, message),
    };
    let help = format!(
        "[listener.{name}.paths] says how paths are read; paths = false takes them as they were sent"
    );
    cx.report(problem.also(listener.name.span, "this listener").help(help));
}

/// Returns true if a glob is too long in its normalized form, although the written form is not.
fn is_too_long(listener: &ListenerSpec, pattern: &PathPattern) -> bool {
    match &listener.mode {
        ModeSpec::Http { paths, .. } => PathSet::compile(slice::from_ref(pattern), paths.as_ref()).is_err(),
        ModeSpec::Tcp { .. } => false,
    }
}

fn fault(listener: &ListenerSpec, pattern: &PathPattern) -> Option<PatternFault> {
    match &listener.mode {
        ModeSpec::Http { paths: Some(rules), .. } => check_pattern(pattern, rules).err(),
        ModeSpec::Http { paths: None, .. } | ModeSpec::Tcp { .. } => None,
    }
}
