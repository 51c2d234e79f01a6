//! Errors of the compilation and the evaluation of expressions.

use std::fmt;
use std::ops::Range;

use super::Expression;

/// The reason to refuse an expression, and the part of the text that causes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExpressionError {
    /// Kind of the error.
    pub fault: ExpressionFault,
    /// Range of bytes in the text; empty if the error has no position.
    pub at: Range<usize>,
}

/// The kind of a compilation error.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ExpressionFault {
    /// This build does not support expressions.
    Missing,
    /// The text is over [`Expression::BYTES_MAX`].
    TooLong,
    /// Syntax error, with the parser's message.
    Syntax(String),
    /// The variable does not exist.
    UnknownVariable(String),
    /// The function or method does not exist.
    UnknownFunction(String),
    /// The pattern of `matches` is not a string literal.
    Pattern,
    /// The pattern of `matches` is not a valid regular expression.
    InvalidPattern(String),
    /// The expression has more than [`Expression::NODES_MAX`] operators, names and literals.
    TooLarge,
    /// A loop (`all`, `exists`, `map`, `filter`) contains another loop.
    NestedLoop,
    /// The types do not fit an operator, a function or the config key.
    Type {
        /// Types that were found, and types that are expected.
        message: String,
        /// Suggested replacement.
        help: Option<String>,
    },
}

/// The reason why an expression has no value for a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EvaluationError {
    /// The evaluation failed, e.g. because of a missing key, an overflow or a text that is not a number. The
    /// message contains no values of the request.
    Failed(String),
    /// The value is not a bool.
    NotBool,
}

impl fmt::Display for ExpressionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.fault.fmt(f)
    }
}

impl std::error::Error for ExpressionError {}

impl fmt::Display for ExpressionFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing => f.write_str(
                "this build of weir has no CEL expressions: build it with `make release`, or with the Cargo feature `cel`",
            ),
            Self::TooLong => write!(f, "longer than {} bytes", Expression::BYTES_MAX),
            Self::Syntax(message) | Self::InvalidPattern(message) | Self::Type { message, .. } => {
                f.write_str(message)
            }
            Self::UnknownVariable(name) => {
                write!(f, "no variable {name}; there are: {}", Expression::VARIABLES.join(", "))
            }
            Self::UnknownFunction(name) => write!(f, "no function {name}"),
            Self::Pattern => f.write_str("the pattern of `matches` must be a string literal"),
            Self::TooLarge => {
                write!(f, "more than {} operators, names and literals", Expression::NODES_MAX)
            }
            Self::NestedLoop => f.write_str("a loop (all, exists, map, filter) within a loop"),
        }
    }
}

impl fmt::Display for EvaluationError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Failed(message) => f.write_str(message),
            Self::NotBool => f.write_str("the value is neither true nor false"),
        }
    }
}

impl std::error::Error for EvaluationError {}
