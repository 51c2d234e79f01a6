//! Expressions about a request in CEL, the Common Expression Language (cel.dev). Each is compiled once. It
//! has no access to clock, network, files or randomness, and its cost is limited by the text length, the
//! number of nodes, and one level of loops.
//!
//! The variables are `method`, `host` (lower case, without port), `path`, `query` (empty if there is none),
//! `headers`, `client_ip`, `scheme` and `listener`. `headers` is a map from lower-case name to value; it
//! joins lines of one name with `, `.
//!
//! A build without the feature `cel` refuses every expression with [`ExpressionFault::Missing`].

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

/// The use of an expression in the config, which determines its type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExpressionUse {
    /// A condition with a bool value.
    Condition,
    /// A key that groups requests: a string, bytes, a number or a bool.
    Key,
}

/// A header that an expression reads without a check that the request has it. The evaluation fails for a
/// request without it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnguardedHeader {
    /// Name of the header.
    pub name: String,
    /// Range of bytes in the expression that reads the header.
    pub at: Range<usize>,
}

impl Expression {
    /// Maximum length of the text in bytes.
    pub const BYTES_MAX: usize = 4096;
    /// Maximum number of operators, names and literals together.
    pub const NODES_MAX: usize = 500;
    /// Names of all variables.
    pub const VARIABLES: &[&str] =
        &["method", "host", "path", "query", "headers", "client_ip", "scheme", "listener"];
}
