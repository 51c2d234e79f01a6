//! The route table of a listener.

use std::fmt;

use super::matcher::Matcher;
use super::{Mismatch, RouteRequest};
use crate::expression::{EvaluationError, ExpressionError};
use crate::{Action, PathRules, RouteMatch};

/// The compiled routes of a listener. The first one that matches takes the request.
#[derive(Debug)]
pub struct RouteTable {
    routes: Vec<Entry>,
}

#[derive(Debug)]
struct Entry {
    matcher: Matcher,
    /// True if the route also applies to requests for which its expression fails.
    denies: bool,
}

/// The route for a request.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct RouteDecision {
    /// Index of the route; `None` = no route matches.
    pub route: Option<usize>,
    /// Expressions that failed before the decision, in the order of their routes.
    pub failures: Vec<ExpressionFailure>,
}

/// A failed evaluation of a route's expression.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExpressionFailure {
    /// Index of the route.
    pub route: usize,
    /// Cause of the failure.
    pub error: EvaluationError,
    /// True if the route denies requests and therefore took this one; other routes are skipped.
    pub denied: bool,
}

/// The reason why a route cannot be compiled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RouteError {
    /// A glob has more than 255 characters.
    Glob,
    /// The expression is invalid.
    Expression(ExpressionError),
}

/// The route for a request, with the reasons why the earlier routes do not match.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Explanation {
    /// Index of the route; `None` = no route matches.
    pub route: Option<usize>,
    /// First mismatch of each earlier route, in order.
    pub passed_over: Vec<Mismatch>,
    /// Failure of the expression, if that is why a denying route took the request.
    pub failure: Option<EvaluationError>,
}

impl RouteTable {
    /// Compiles routes in order, for paths normalised by `rules`. An error has the index of its route.
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

    /// Finds the first route that matches. A route that denies requests also matches if its expression fails.
    #[inline]
    pub fn find(&self, request: &RouteRequest<'_>) -> RouteDecision {
        match self.routes.first() {
            Some(first) if first.matcher.matches_all() => {
                RouteDecision { route: Some(0), failures: Vec::new() }
            }
            _ => self.search(request),
        }
    }

    /// Explains for each route before the matching one why it does not match.
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
