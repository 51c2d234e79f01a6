use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};

use super::matcher::Matcher;
use super::{Mismatch, RouteRequest};
use crate::RouteMatch;
use crate::expression::ExpressionError;

/// A listener's routes, compiled. The first that matches takes the request.
#[derive(Debug)]
pub struct RouteTable {
    routes: Vec<Matcher>,
    expression_failures: AtomicU64,
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
}

impl RouteTable {
    /// Compiles routes in order. An error comes with the index of its route.
    pub fn compile<'a>(
        routes: impl IntoIterator<Item = &'a RouteMatch>,
    ) -> Result<Self, (usize, RouteError)> {
        let routes = routes
            .into_iter()
            .enumerate()
            .map(|(index, route)| Matcher::compile(route).map_err(|error| (index, error)))
            .collect::<Result<_, _>>()?;
        Ok(Self { routes, expression_failures: AtomicU64::new(0) })
    }

    /// The index of the first route that matches.
    #[inline]
    pub fn find(&self, request: &RouteRequest<'_>) -> Option<usize> {
        match self.routes.first() {
            Some(first) if first.matches_all() => Some(0),
            _ => self.search(request),
        }
    }

    /// Tells for each route up to the one that matches why it does not.
    pub fn explain(&self, request: &RouteRequest<'_>) -> Explanation {
        let mut passed_over = Vec::new();
        for (index, route) in self.routes.iter().enumerate() {
            match route.check(request) {
                Ok(()) => return Explanation { route: Some(index), passed_over },
                Err(mismatch) => passed_over.push(mismatch),
            }
        }
        Explanation { route: None, passed_over }
    }

    /// Expressions that failed so far (a missing header, a wrong type) and therefore did not match.
    pub fn expression_failures(&self) -> u64 {
        self.expression_failures.load(Ordering::Relaxed)
    }

    fn search(&self, request: &RouteRequest<'_>) -> Option<usize> {
        self.routes.iter().position(|route| match route.check(request) {
            Ok(()) => true,
            Err(Mismatch::ExpressionFailed(_)) => {
                self.expression_failures.fetch_add(1, Ordering::Relaxed);
                false
            }
            Err(_) => false,
        })
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
