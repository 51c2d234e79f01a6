//! Errors inside the engine: of a node of the syntax tree, and of an evaluation.

use cel::ExecutionError;

use crate::expression::{EvaluationError, ExpressionFault};

/// An error at one node of the syntax tree.
#[derive(Debug)]
pub(super) struct NodeFault {
    /// Id of the node, for which the parser knows the position in the text.
    pub(super) node: u64,
    pub(super) fault: ExpressionFault,
}

impl NodeFault {
    pub(super) fn new(node: u64, fault: ExpressionFault) -> Self {
        Self { node, fault }
    }

    pub(super) fn of_type(node: u64, message: String, help: Option<String>) -> Self {
        Self::new(node, ExpressionFault::Type { message, help })
    }
}

impl EvaluationError {
    /// Converts an error of the interpreter; `text` is the source of the expression. The message is logged,
    /// so it must not contain values of the request.
    pub(super) fn of(error: &ExecutionError, text: &str) -> Self {
        Self::Failed(match error {
            ExecutionError::NoSuchKey(key) if !key.is_empty() && text.contains(key.as_str()) => {
                format!("no such key: {key}")
            }
            ExecutionError::NoSuchKey(_) => "no such key".to_owned(),
            ExecutionError::IndexOutOfBounds(_) => "no element with this index".to_owned(),
            ExecutionError::DuplicateKey(_) => "a map has a key twice".to_owned(),
            ExecutionError::DivisionByZero(_) | ExecutionError::RemainderByZero(_) => {
                "division by zero".to_owned()
            }
            ExecutionError::Overflow(operator, ..) => format!("`{operator}` overflows"),
            ExecutionError::FunctionError { function, .. } => format!("{function}() fails for its value"),
            ExecutionError::InternalError(_) => "the interpreter failed".to_owned(),
            _ => "values of types that do not fit".to_owned(),
        })
    }
}
