//! The type checker of expressions. Checks names, operators, functions and the result when the config is
//! loaded. Follows CEL's rules for static types (cel-spec `doc/langdef.md`, "Gradual Type Checking"), and
//! requires one type for all elements of a list or map literal, as Kubernetes does.

mod checker;
mod functions;
mod operators;
mod suggestions;

use cel::IdedExpr;

use super::fault::NodeFault;
use super::value_type::Type;
use super::{ExpressionUse, variables};
pub(super) use functions::names as function_names;

/// Checks that an expression has the type for its use.
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
