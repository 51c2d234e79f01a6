//! A build without the feature `cel`: there is no value of this type, so no expression is ever evaluated.

use super::{EvaluationError, ExpressionError, ExpressionFault, ExpressionUse, UnguardedHeader};
use crate::RouteRequest;

/// A compiled expression. This build compiles none.
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

    /// The names of the functions and methods that exist: none.
    pub fn functions() -> impl Iterator<Item = &'static str> + Clone {
        std::iter::empty()
    }

    /// The first header that is read although a request need not have it.
    pub fn unguarded_header(&self) -> Option<&UnguardedHeader> {
        match *self {}
    }

    /// Returns whether the expression is true for a request.
    pub fn evaluate(&self, _: &RouteRequest<'_>) -> Result<bool, EvaluationError> {
        match *self {}
    }

    /// The value as bytes that requests can be told apart by.
    pub fn evaluate_key(&self, _: &RouteRequest<'_>) -> Option<Vec<u8>> {
        match *self {}
    }

    /// The text it was compiled from.
    pub fn text(&self) -> &str {
        match *self {}
    }
}
