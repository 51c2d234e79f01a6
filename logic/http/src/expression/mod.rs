//! Expressions in CEL, the Common Expression Language (cel.dev), about a request. They are compiled once, cannot reach
//! clock, network, files or randomness, and their cost is bounded: text length, size, and loops only one deep.
//!
//! Variables: `method`, `host` (lower case, without port), `path`, `query` (empty if there is none), `headers` (a map
//! from lower-case name to value; lines of one name are joined by `, `), `client_ip`, `scheme`, `listener`.
//!
//! A build without the feature `cel` compiles none, and says so: [`ExpressionError::Missing`].

#[cfg(not(feature = "cel"))]
mod absent;
#[cfg(feature = "cel")]
mod engine;

use std::fmt;

#[cfg(not(feature = "cel"))]
pub use absent::Expression;
#[cfg(feature = "cel")]
pub use engine::Expression;

/// Why a text is not a permitted expression.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ExpressionError {
    /// This build has no expressions.
    Missing,
    /// Over [`Expression::BYTES_MAX`].
    TooLong,
    /// The parser's message.
    Syntax(String),
    /// A variable that there is not.
    Variable(String),
    /// A function that there is not.
    Function(String),
    /// The pattern of `matches` is not written out as a text.
    Pattern,
    /// The pattern of `matches` is no regular expression.
    InvalidPattern(String),
    /// More than [`Expression::NODES_MAX`] operators, names and literals.
    TooLarge,
    /// A loop (`all`, `exists`, `map`, `filter`) within a loop.
    NestedLoop,
}

/// Why an expression has no value for a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EvaluationError {
    /// A missing key, a wrong type, an overflow: the interpreter's message.
    Failed(String),
    /// The value is not a bool.
    NotBool,
}

impl Expression {
    /// Longest text, in bytes.
    pub const BYTES_MAX: usize = 4096;
    /// Most operators, names and literals together.
    pub const NODES_MAX: usize = 500;
    /// The variables there are.
    pub const VARIABLES: &[&str] =
        &["method", "host", "path", "query", "headers", "client_ip", "scheme", "listener"];
}

impl fmt::Display for ExpressionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing => f.write_str(
                "this build of weir has no CEL expressions: build it with `make release`, or with the Cargo feature `cel`",
            ),
            Self::TooLong => write!(f, "longer than {} bytes", Expression::BYTES_MAX),
            Self::Syntax(message) => f.write_str(message),
            Self::Variable(name) => {
                write!(f, "no variable {name}; there are: {}", Expression::VARIABLES.join(", "))
            }
            Self::Function(name) => write!(f, "no function {name}"),
            Self::Pattern => f.write_str("the pattern of `matches` must be written out as a text"),
            Self::InvalidPattern(message) => f.write_str(message),
            Self::TooLarge => {
                write!(f, "more than {} operators, names and literals", Expression::NODES_MAX)
            }
            Self::NestedLoop => f.write_str("a loop (all, exists, map, filter) within a loop"),
        }
    }
}

impl std::error::Error for ExpressionError {}

impl fmt::Display for EvaluationError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Failed(message) => f.write_str(message),
            Self::NotBool => f.write_str("the value is neither true nor false"),
        }
    }
}

impl std::error::Error for EvaluationError {}
