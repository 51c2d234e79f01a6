//! Compiled match conditions of a route.

use std::fmt;

use super::host::bare_host;
use super::{PathSet, RouteRequest};
use crate::expression::{EvaluationError, Expression, ExpressionUse};
use crate::{HeaderMatch, HeaderTest, HostPattern, PathRules, RouteMatch};

/// A compiled [`RouteMatch`].
#[derive(Debug)]
pub(super) struct Matcher {
    hosts: Vec<HostPattern>,
    paths: PathSet,
    methods: Vec<String>,
    headers: Vec<HeaderMatch>,
    clients: Vec<ipnet::IpNet>,
    expression: Option<Expression>,
    matches_all: bool,
}

/// The first reason why a route does not match a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Mismatch {
    /// No host pattern matches.
    Host,
    /// No path pattern matches.
    Path,
    /// No method matches.
    Method,
    /// The condition on this header is not met.
    Header(String),
    /// No client network contains the client.
    Client,
    /// The expression is false.
    Expression,
    /// The expression fails for this request, and the route does not deny requests.
    ExpressionFailed(EvaluationError),
}

impl Matcher {
    pub(super) fn compile(
        matches: &RouteMatch,
        rules: Option<&PathRules>,
    ) -> Result<Self, super::RouteError> {
        let RouteMatch { hosts, paths, methods, headers, clients, expression } = matches;
        let paths = PathSet::compile(paths, rules)?;
        let expression = expression
            .as_deref()
            .map(|text| Expression::compile(text, ExpressionUse::Condition))
            .transpose()?;
        Ok(Self {
            matches_all: *matches == RouteMatch::default(),
            hosts: hosts.clone(),
            paths,
            methods: methods.clone(),
            headers: headers.clone(),
            clients: clients.clone(),
            expression,
        })
    }

    #[inline]
    pub(super) fn matches_all(&self) -> bool {
        self.matches_all
    }

    /// Checks the conditions, the cheapest first.
    pub(super) fn check(&self, request: &RouteRequest<'_>) -> Result<(), Mismatch> {
        if self.matches_all {
            return Ok(());
        }
        if !self.hosts.is_empty() {
            let host = bare_host(request.host);
            if !self.hosts.iter().any(|pattern| pattern.matches(host)) {
                return Err(Mismatch::Host);
            }
        }
        if !self.paths.is_empty() && !self.paths.matches(request.path) {
            return Err(Mismatch::Path);
        }
        if !self.methods.is_empty() && !self.methods.iter().any(|method| method.as_bytes() == request.method)
        {
            return Err(Mismatch::Method);
        }
        if let Some(unmet) = self.headers.iter().find(|header| !header.is_met(request)) {
            return Err(Mismatch::Header(unmet.name.clone()));
        }
        let is_client = |client| self.clients.iter().any(|net| net.contains(&client));
        if !self.clients.is_empty() && !request.client.is_some_and(is_client) {
            return Err(Mismatch::Client);
        }
        match self.expression.as_ref().map(|expression| expression.evaluate(request)) {
            None | Some(Ok(true)) => Ok(()),
            Some(Ok(false)) => Err(Mismatch::Expression),
            Some(Err(error)) => Err(Mismatch::ExpressionFailed(error)),
        }
    }
}

impl HeaderMatch {
    fn is_met(&self, request: &RouteRequest<'_>) -> bool {
        let mut values = request
            .headers
            .named(request.buf, self.name.as_bytes())
            .map(|entry| entry.value().of(request.buf));
        match &self.test {
            HeaderTest::Present => values.next().is_some(),
            HeaderTest::Absent => values.next().is_none(),
            HeaderTest::Exact(wanted) => values.any(|value| value == wanted.as_bytes()),
            HeaderTest::Contains(part) => values.any(|value| contains(value, part.as_bytes())),
        }
    }
}

fn contains(text: &[u8], part: &[u8]) -> bool {
    part.is_empty() || text.windows(part.len()).any(|window| window == part)
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Host => f.write_str("the host does not match"),
            Self::Path => f.write_str("the path does not match"),
            Self::Method => f.write_str("the method does not match"),
            Self::Header(name) => write!(f, "the header {name} does not match"),
            Self::Client => f.write_str("the client's address is in none of the networks"),
            Self::Expression => f.write_str("the expression is false"),
            Self::ExpressionFailed(error) => write!(f, "the expression fails: {error}"),
        }
    }
}
