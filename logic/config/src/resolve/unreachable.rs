//! Finds routes that an earlier route hides on every listener to which they belong. Sound, not complete: a
//! reported route is certainly unreachable, others may be unreachable, too.

use std::collections::{BTreeMap, HashMap};

use super::route::Placed;
use crate::syntax::context::Context;
use crate::syntax::diagnostic::Problem;

use weir_http::{HeaderMatch, HostPattern, PathPattern, RouteMatch};

/// Limit of the comparisons: with many thousands of routes without hosts, a comparison of all pairs would
/// take too long.
const COMPARISONS_MAX: usize = 4_000_000;

/// Reports the routes that cannot be reached. `routes` has one list for each listener.
pub(super) fn check(cx: &Context<'_>, routes: &[Vec<Placed>]) {
    if cx.is_incomplete() {
        return;
    }
    let mut comparisons_left = COMPARISONS_MAX;
    // Keyed by position in the file. `None` = some listener can reach the route.
    let mut hidden: BTreeMap<usize, Option<Problem>> = BTreeMap::new();
    for listener in routes {
        let mut earlier = ByHost::default();
        for route in listener {
            let candidates = earlier.candidates(&route.plan.matches);
            comparisons_left = comparisons_left.saturating_sub(candidates.len());
            if comparisons_left == 0 {
                return;
            }
            let mut candidates = candidates.iter().map(|place| &listener[*place]);
            let hider = candidates
                .find(|hider| hider.is_as_written && covers(&hider.plan.matches, &route.plan.matches));
            let problem = hider.map(|hider| unreachable(route, hider));
            match route.index {
                None => problem.into_iter().for_each(|problem| cx.report(problem)),
                Some(index) => match hidden.get(&index) {
                    Some(None) => {}
                    _ => {
                        hidden.insert(index, problem);
                    }
                },
            }
            earlier.add(&route.plan.matches);
        }
    }
    hidden.into_values().flatten().for_each(|problem| cx.report(problem));
}

/// The routes of a listener so far, by host.
#[derive(Default)]
struct ByHost<'r> {
    count: usize,
    any_host: Vec<usize>,
    hosts: HashMap<&'r str, Vec<usize>>,
}

impl<'r> ByHost<'r> {
    fn add(&mut self, matches: &'r RouteMatch) {
        if matches.hosts.is_empty() {
            self.any_host.push(self.count);
        }
        for host in &matches.hosts {
            let (HostPattern::Exact(host) | HostPattern::Wildcard(host)) = host;
            self.hosts.entry(host).or_default().push(self.count);
        }
        self.count += 1;
    }

    /// Returns the routes that may cover `narrow`: each of them matches its first host.
    fn candidates(&self, narrow: &RouteMatch) -> Vec<usize> {
        let mut candidates = self.any_host.clone();
        if let Some(HostPattern::Exact(host) | HostPattern::Wildcard(host)) = narrow.hosts.first() {
            let suffixes = host.char_indices().filter(|(_, c)| *c == '.').map(|(at, _)| &host[at..]);
            let names = std::iter::once(host.as_str()).chain(suffixes);
            candidates.extend(names.filter_map(|name| self.hosts.get(name)).flatten());
        }
        candidates.sort_unstable();
        candidates.dedup();
        candidates
    }
}

fn unreachable(route: &Placed, hider: &Placed) -> Problem {
    let message = format!("{} is never reached: {} takes all of its requests", route.what, hider.what);
    let problem = Problem::error(route.span, message).also(hider.span, "takes them first");
    problem.help("the first route that matches takes a request: put the narrower one first")
}

/// Returns true if `wide` certainly matches every request that `narrow` matches.
fn covers(wide: &RouteMatch, narrow: &RouteMatch) -> bool {
    any_of(&wide.hosts, &narrow.hosts, host_covers)
        && any_of(&wide.paths, &narrow.paths, path_covers)
        && any_of(&wide.methods, &narrow.methods, |wide, narrow| wide == narrow)
        && any_of(&wide.clients, &narrow.clients, |wide, narrow| wide.contains(narrow))
        && wide.headers.iter().all(|wide| narrow.headers.iter().any(|narrow| header_covers(wide, narrow)))
        && (wide.expression.is_none() || wide.expression == narrow.expression)
}

/// Compares groups of which one entry must match; an empty group matches everything.
fn any_of<T>(wide: &[T], narrow: &[T], covers: impl Fn(&T, &T) -> bool) -> bool {
    wide.is_empty()
        || (!narrow.is_empty() && narrow.iter().all(|narrow| wide.iter().any(|wide| covers(wide, narrow))))
}

fn host_covers(wide: &HostPattern, narrow: &HostPattern) -> bool {
    match (wide, narrow) {
        (HostPattern::Exact(wide), HostPattern::Exact(narrow)) => wide == narrow,
        (HostPattern::Wildcard(wide), HostPattern::Exact(narrow)) => {
            narrow.len() > wide.len() && narrow.ends_with(wide.as_str())
        }
        (HostPattern::Wildcard(wide), HostPattern::Wildcard(narrow)) => narrow.ends_with(wide.as_str()),
        (HostPattern::Exact(_), HostPattern::Wildcard(_)) => false,
    }
}

fn path_covers(wide: &PathPattern, narrow: &PathPattern) -> bool {
    match (wide, narrow) {
        (PathPattern::Prefix(wide), PathPattern::Exact(narrow) | PathPattern::Prefix(narrow)) => {
            prefix_takes(wide, narrow)
        }
        (PathPattern::Exact(wide), PathPattern::Exact(narrow)) => wide == narrow,
        (PathPattern::Glob(wide), PathPattern::Glob(narrow)) => wide == narrow || wide == "**",
        (PathPattern::Glob(wide), _) => wide == "**",
        // The part before the first wildcard is fixed.
        (PathPattern::Prefix(wide), PathPattern::Glob(narrow)) => {
            let fixed = &narrow[..narrow.find(['*', '?']).unwrap_or(narrow.len())];
            wide == "/" && narrow.starts_with('/') || wide.ends_with('/') && fixed.starts_with(wide.as_str())
        }
        (PathPattern::Exact(_), _) => false,
    }
}

/// Returns true if the prefix matches the path. `/sa` matches `/sa` and paths below it; `/sa/` matches paths
/// that begin with it.
fn prefix_takes(prefix: &str, path: &str) -> bool {
    match path.strip_prefix(prefix) {
        Some(rest) => rest.is_empty() || prefix.ends_with('/') || rest.starts_with('/'),
        None => false,
    }
}

fn header_covers(wide: &HeaderMatch, narrow: &HeaderMatch) -> bool {
    use weir_http::HeaderTest::{Absent, Contains, Exact, Present};
    if !wide.name.eq_ignore_ascii_case(&narrow.name) {
        return false;
    }
    match (&wide.test, &narrow.test) {
        (Present, Present | Exact(_) | Contains(_)) | (Absent, Absent) => true,
        (Exact(wide), Exact(narrow)) => wide == narrow,
        (Contains(wide), Exact(narrow) | Contains(narrow)) => narrow.contains(wide.as_str()),
        _ => false,
    }
}
