use std::fmt;

use super::matcher::Matcher;
use super::{Mismatch, RouteRequest};
use crate::expression::{EvaluationError, ExpressionError};
use crate::{Action, PathRules, RouteMatch};

/// A listener's routes, compiled. The first that matches takes the request.
#[derive(Debug)]
pub struct RouteTable {
    routes: Vec<Entry>,
}

#[derive(Debug)]
struct Entry {
    matcher: Matcher,
    /// The route takes requests for which its expression fails.
    denies: bool,
}

/// The route that takes a request.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct RouteDecision {
    /// Its index; `None` = no route takes it.
    pub route: Option<usize>,
    /// Expressions that failed on the way, in the order of their routes.
    pub failures: Vec<ExpressionFailure>,
}

/// A route's expression has no value for a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExpressionFailure {
    /// The index of the route.
    pub route: usize,
    /// Why.
    pub error: EvaluationError,
    /// The route denies, and therefore took the request; any other is passed over.
    pub denied: bool,
}

/// Why a route cannot be compiled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RouteError {
    /// A glob of over 255 characters.
    Glob,
    /// The expression.
    Expression(ExpressionError),
}

/// Which route takes a request, and why those before it do not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Explanation {
    /// Its index; `None` = no route takes it.
    pub route: Option<usize>,
    /// For each route before it, in order, the first reason.
    pub passed_over: Vec<Mismatch>,
    /// The route denies, and took the request because its expression fails.
    pub failure: Option<EvaluationError>,
}

impl RouteTable {
    /// Compiles routes in order, for paths that are read by `rules`. An error comes with the index of its route.
    pub fn compile<'a>(
        routes: impl IntoIterator<Item = (&'a RouteMatch, &'a Action)>,
        rules: Option<&PathRules>,
    ) -> Result<Self, (usize, RouteError)> {
        let entry = |(index, (matches, action)): (usize, (&RouteMatch, &Action))| {
            let matcher = Matcher::compile(matches, rules).map_err(|error| (index, error))?;
            Ok(Entry { matcher, denies: action.denies() })
        };
        let routes = routes.into_iter().enumerate().map(entry).collect::<Result<_, _>>()?;
        Ok(Self { routes })
    }

    /// Finds the first route that matches. One that denies also takes a request for which its expression fails.
    #[inline]
    pub fn find(&self, request: &RouteRequest<'_>) -> RouteDecision {
        match self.routes.first() {
            Some(first) if first.matcher.matches_all() => {
                RouteDecision { route: Some(0), failures: Vec::new() }
            }
            _ => self.search(request),
        }
    }

    /// Tells for each route up to the one that matches why it does not.
    pub fn explain(&self, request: &RouteRequest<'_>) -> Explanation {
        let mut passed_over = Vec::new();
        for (index, route) in self.routes.iter().enumerate() {
            match route.matcher.check(request) {
                Ok(()) => return Explanation { route: Some(index), passed_over, failure: None },
                Err(Mismatch::ExpressionFailed(error)) if route.denies => {
                    return Explanation { route: Some(index), passed_over, failure: Some(error) };
                }
                Err(mismatch) => passed_over.push(mismatch),
            }
        }
        Explanation { route: None, passed_over, failure: None }
    }

    fn search(&self, request: &RouteRequest<'_>) -> RouteDecision {
        let mut decision = RouteDecision::default();
        for (index, route) in self.routes.iter().enumerate() {
            match route.matcher.check(request) {
                Ok(()) => decision.route = Some(index),
                Err(Mismatch::ExpressionFailed(error)) => {
                    decision.failures.push(ExpressionFailure { route: index, error, denied: route.denies });
                    decision.route = route.denies.then_some(index);
                }
                Err(_) => {}
            }
            if decision.route.is_some() {
                break;
            }
        }
        decision
    }
}

impl From<ExpressionError> for RouteError {
    fn from(error: ExpressionError) -> Self {
        Self::Expression(error)
    }
}

impl fmt::Display for RouteError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Glob => f.write_str("a glob has at most 255 characters"),
            Self::Expression(error) => write!(f, "expression: {error}"),
        }
    }
}

impl std::error::Error for RouteError {}
