//! The type checker of expressions: names, operators, functions and the result, before any request comes. It follows CEL's
//! rules for static typing (cel-spec `doc/langdef.md`, "Gradual Type Checking"), with elements of one literal list or map of
//! one type, as Kubernetes has it.

mod checker;
mod functions;
mod kinds;
mod operators;
mod suggestions;

use cel::IdedExpr;

use super::fault::NodeFault;
use super::{ExpressionUse, variables};
pub(super) use functions::names as function_names;
pub(super) use kinds::Type;

/// Checks an expression for the key that it stands at.
pub(super) fn check(root: &IdedExpr, wanted: ExpressionUse) -> Result<(), NodeFault> {
    let given = checker::Checker::default().type_of(root)?;
    let fits = match wanted {
        ExpressionUse::Condition => given == Type::Bool,
        ExpressionUse::Key => given.is_number() || matches!(given, Type::Bool | Type::String | Type::Bytes),
    };
    if fits {
        return Ok(());
    }
    let expected = match wanted {
        ExpressionUse::Condition => "bool",
        ExpressionUse::Key => "string, bytes, int, uint, double or bool",
    };
    let message = format!("the expression yields {given}; expected {expected}");
    Err(NodeFault::of_type(0, message, suggestions::for_result(&given, wanted)))
}
