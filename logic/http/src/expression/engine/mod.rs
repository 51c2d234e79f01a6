//! Compilation and evaluation of expressions with the library `cel`.

mod bounds;
mod fault;
mod guards;
mod patterns;
mod positions;
mod types;
mod value_type;
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

/// A compiled expression: a condition with a bool value, or a key. It includes the compiled patterns of
/// `matches`, which have RE2 syntax and match anywhere in the text.
pub struct Expression {
    root: IdedExpr,
    patterns: Vec<Pattern>,
    env: Arc<Env>,
    text: String,
    unguarded_header: Option<UnguardedHeader>,
}

impl Expression {
    /// Compiles `text` for the given use, which determines the type of the expression.
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

    /// Returns the names of all functions and methods.
    pub fn functions() -> impl Iterator<Item = &'static str> + Clone {
        types::function_names()
    }

    /// Returns the first header that the expression reads without a check that it exists.
    pub fn unguarded_header(&self) -> Option<&UnguardedHeader> {
        self.unguarded_header.as_ref()
    }

    /// Returns true if the expression is true for a request.
    pub fn evaluate(&self, request: &RouteRequest<'_>) -> Result<bool, EvaluationError> {
        match self.value(request)? {
            Value::Bool(value) => Ok(value),
            _ => Err(EvaluationError::NotBool),
        }
    }

    /// Returns the value as bytes, for use as a key: a string, bytes, a number or a bool in printed form.
    /// `None` if the value is empty or of another type, or if the evaluation failed.
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

    /// Returns the source text.
    pub fn text(&self) -> &str {
        &self.text
    }
}

impl fmt::Debug for Expression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Expression({:?})", self.text)
    }
}

/// Checks size and types, and extracts the patterns.
fn check(root: &mut IdedExpr, wanted: ExpressionUse) -> Result<Vec<Pattern>, NodeFault> {
    bounds::check(root)?;
    types::check(root, wanted)?;
    patterns::take(root)
}
