//! Expressions, compiled and evaluated by the library `cel`.

mod bounds;
mod fault;
mod guards;
mod patterns;
mod positions;
mod types;
mod variables;

use std::fmt;
use std::sync::Arc;

use cel::{Context, Env, IdedExpr, Value};

use super::{EvaluationError, ExpressionError, ExpressionFault, ExpressionUse, UnguardedHeader};
use crate::RouteRequest;
use fault::NodeFault;
use patterns::Pattern;
use positions::Positions;
use variables::RequestVariables;

/// A compiled expression: a condition that yields a bool, or a key. Patterns of `matches` (RE2 syntax, found anywhere in the text) are compiled
/// with it.
pub struct Expression {
    root: IdedExpr,
    patterns: Vec<Pattern>,
    env: Arc<Env>,
    text: String,
    unguarded_header: Option<UnguardedHeader>,
}

impl Expression {
    /// Compiles `text` for the key that it stands at. The expression has the type that the key needs.
    pub fn compile(text: &str, wanted: ExpressionUse) -> Result<Self, ExpressionError> {
        if text.len() > Self::BYTES_MAX {
            return Err(ExpressionError { fault: ExpressionFault::TooLong, at: 0..0 });
        }
        let env =
            patterns::environment().map_err(|NodeFault { fault, .. }| ExpressionError { fault, at: 0..0 })?;
        let (mut root, info) = env
            .parser()
            .parse_with_source_info(text)
            .map_err(|errors| positions::of_syntax(text, &errors))?;
        let positions = Positions::new(text, &info);
        let patterns = check(&mut root, wanted)
            .map_err(|NodeFault { node, fault }| ExpressionError { fault, at: positions.of(node) })?;
        let unguarded_header = guards::unguarded(&root)
            .map(|read| UnguardedHeader { name: read.header.to_owned(), at: positions.of(read.node) });
        Ok(Self { root, patterns, env: Arc::new(env), text: text.to_owned(), unguarded_header })
    }

    /// The names of the functions and methods that exist.
    pub fn functions() -> impl Iterator<Item = &'static str> + Clone {
        types::function_names()
    }

    /// The first header that is read although a request need not have it.
    pub fn unguarded_header(&self) -> Option<&UnguardedHeader> {
        self.unguarded_header.as_ref()
    }

    /// Returns whether the expression is true for a request.
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
        Value::resolve(&self.root, &context).map_err(|error| EvaluationError::of(&error, &self.text))
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

/// Checks size and types, and takes the patterns out.
fn check(root: &mut IdedExpr, wanted: ExpressionUse) -> Result<Vec<Pattern>, NodeFault> {
    bounds::check(root)?;
    types::check(root, wanted)?;
    patterns::take(root)
}
