//! Expressions, compiled and evaluated by the library `cel`.

mod bounds;
mod patterns;
mod variables;

use std::fmt;
use std::sync::Arc;

use cel::{Context, Env, IdedExpr, Value};

use super::{EvaluationError, ExpressionError};
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

impl Expression {
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
