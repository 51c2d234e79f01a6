//! Stub for a build without the feature `cel`. The type has no values, so no expression is ever evaluated.

use super::{EvaluationError, ExpressionError, ExpressionFault, ExpressionUse, UnguardedHeader};
use crate::RouteRequest;

/// A compiled expression, which cannot exist in this build.
#[derive(Debug)]
pub enum Expression {}

impl Expression {
    /// Refuses every text.
    ///
    /// # Errors
    /// Always: [`ExpressionFault::Missing`].
    pub fn compile(_: &str, _: ExpressionUse) -> Result<Self, ExpressionError> {
        Err(ExpressionError { fault: ExpressionFault::Missing, at: 0..0 })
    }

    /// Returns no names, because this build has no functions.
    pub fn functions() -> impl Iterator<Item = &'static str> + Clone {
        std::iter::empty()
    }

    /// Returns the first header that the expression reads without a check that it exists.
    pub fn unguarded_header(&self) -> Option<&UnguardedHeader> {
        match *self {}
    }

    /// Returns true if the expression is true for a request.
    pub fn evaluate(&self, _: &RouteRequest<'_>) -> Result<bool, EvaluationError> {
        match *self {}
    }

    /// Returns the value as bytes, for use as a key.
    pub fn evaluate_key(&self, _: &RouteRequest<'_>) -> Option<Vec<u8>> {
        match *self {}
    }

    /// Returns the source text.
    pub fn text(&self) -> &str {
        match *self {}
    }
}
