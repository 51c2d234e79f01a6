//! Expressions in CEL, the Common Expression Language (cel.dev), about a request. They are compiled once, cannot reach
//! clock, network, files or randomness, and their cost is bounded: text length, size, and loops only one deep.
//!
//! Variables: `method`, `host` (lower case, without port), `path`, `query` (empty if there is none), `headers` (a map
//! from lower-case name to value; lines of one name are joined by `, `), `client_ip`, `scheme`, `listener`.
//!
//! A build without the feature `cel` compiles none, and says so: [`ExpressionFault::Missing`].

#[cfg(not(feature = "cel"))]
mod absent;
#[cfg(feature = "cel")]
mod engine;
mod error;

use std::ops::Range;

#[cfg(not(feature = "cel"))]
pub use absent::Expression;
#[cfg(feature = "cel")]
pub use engine::Expression;
pub use error::{EvaluationError, ExpressionError, ExpressionFault};

/// The config key that an expression stands at, which says what it must yield.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExpressionUse {
    /// A condition: a bool.
    Condition,
    /// A key to keep requests together by: a string, bytes, a number or a bool.
    Key,
}

/// A header that an expression reads and a request need not have; the expression fails for a request without it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnguardedHeader {
    /// Its name.
    pub name: String,
    /// Bytes of the expression's text that read it.
    pub at: Range<usize>,
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
