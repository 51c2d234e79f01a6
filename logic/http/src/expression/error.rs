//! Why a text is refused as an expression, and why a compiled one has no value for a request.

use std::fmt;
use std::ops::Range;

use super::Expression;

/// Why a text is not a permitted expression, and which part of it is to blame.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExpressionError {
    /// What is wrong.
    pub fault: ExpressionFault,
    /// Bytes of the text; empty if no single part is to blame.
    pub at: Range<usize>,
}

/// What is wrong with an expression.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ExpressionFault {
    /// This build has no expressions.
    Missing,
    /// Over [`Expression::BYTES_MAX`].
    TooLong,
    /// The parser's message.
    Syntax(String),
    /// A variable that does not exist.
    UnknownVariable(String),
    /// A function or method that does not exist.
    UnknownFunction(String),
    /// The pattern of `matches` is not a string literal.
    Pattern,
    /// The pattern of `matches` is not a regular expression.
    InvalidPattern(String),
    /// More than [`Expression::NODES_MAX`] operators, names and literals.
    TooLarge,
    /// A loop (`all`, `exists`, `map`, `filter`) within a loop.
    NestedLoop,
    /// Types that do not fit an operator, a function or the config key.
    Type {
        /// The types found, and the types expected.
        message: String,
        /// What to write instead.
        help: Option<String>,
    },
}

/// Why an expression has no value for a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EvaluationError {
    /// A missing key, an overflow, a text that is not a number. The message holds no values of the request.
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
