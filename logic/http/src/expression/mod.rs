//! Expressions in CEL, the Common Expression Language (cel.dev), about a request. They are compiled once, cannot reach
//! clock, network, files or randomness, and their cost is bounded: text length, size, and loops only one deep.
//!
//! Variables: `method`, `host` (lower case, without port), `path`, `query` (empty if there is none), `headers` (a map
//! from lower-case name to value; lines of one name are joined by `, `), `client_ip`, `scheme`, `listener`.

mod bounds;
mod patterns;
mod variables;

use std::fmt;
use std::sync::Arc;

use cel::{Context, Env, IdedExpr, Value};

use crate::RouteRequest;
use patterns::Pattern;
use variables::RequestVariables;

/// A compiled expression: a condition that yields a bool, or a key. Patterns of `matches` (RE2 syntax, found anywhere in the text) are compiled
/// with it.
pub struct Expression {
    root: IdedExpr,
    patterns: Vec<Pattern>,
    env: Arc<Env>,
    text: String,
}

/// Why a text is not a permitted expression.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ExpressionError {
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
    pub const VARIABLES: &[&str] = variables::NAMES;

    /// Compiles `text`.
    pub fn compile(text: &str) -> Result<Self, ExpressionError> {
        if text.len() > Self::BYTES_MAX {
            return Err(ExpressionError::TooLong);
        }
        let env = patterns::environment()?;
        let program = env.compile(text).map_err(|errors| {
            let messages: Vec<&str> = errors.errors.iter().map(|error| error.msg.as_str()).collect();
            ExpressionError::Syntax(messages.join("; "))
        })?;
        bounds::check(program.expression())?;
        let mut root = program.expression().clone();
        let patterns = patterns::take(&mut root)?;
        Ok(Self { root, patterns, env: Arc::new(env), text: text.to_owned() })
    }

    /// Whether the expression is true for a request.
    pub fn evaluate(&self, request: &RouteRequest<'_>) -> Result<bool, EvaluationError> {
        match self.value(request)? {
            Value::Bool(value) => Ok(value),
            _ => Err(EvaluationError::NotBool),
        }
    }

    /// The value as bytes that requests can be told apart by: a text, bytes, a number or a bool as it prints. `None` = it is
    /// empty or something else, or could not be worked out.
    pub fn evaluate_key(&self, request: &RouteRequest<'_>) -> Option<Vec<u8>> {
        let bytes = match self.value(request).ok()? {
            Value::String(text) => text.as_bytes().to_vec(),
            Value::Bytes(bytes) => bytes.to_vec(),
            Value::Int(number) => number.to_string().into_bytes(),
            Value::UInt(number) => number.to_string().into_bytes(),
            Value::Float(number) => number.to_string().into_bytes(),
            Value::Bool(value) => value.to_string().into_bytes(),
            _ => return None,
        };
        Some(bytes).filter(|bytes| !bytes.is_empty())
    }

    fn value(&self, request: &RouteRequest<'_>) -> Result<Value, EvaluationError> {
        let variables = RequestVariables::new(request, &self.patterns);
        let mut context = Context::with_env(Arc::clone(&self.env));
        context.set_variable_resolver(&variables);
        Value::resolve(&self.root, &context).map_err(|error| EvaluationError::Failed(error.to_string()))
    }

    /// The text it was compiled from.
    pub fn text(&self) -> &str {
        &self.text
    }
}

impl fmt::Debug for Expression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Expression({:?})", self.text)
    }
}

impl fmt::Display for ExpressionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
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
