//! What an expression may be: so large, with known names only, and with loops one deep, so that no request can make it
//! expensive.

use cel::IdedExpr;
use cel::common::ast::{EntryExpr, Expr};

use super::{Expression, ExpressionError};

/// Functions of CEL's standard library.
const FUNCTIONS: &[&str] = &["bool", "bytes", "double", "dyn", "int", "size", "string", "type", "uint"];
/// Its methods.
const METHODS: &[&str] = &["contains", "endsWith", "matches", "size", "startsWith"];

pub(super) fn check(root: &IdedExpr) -> Result<(), ExpressionError> {
    let mut walk = Walk { nodes: 0, local: Vec::new(), in_loop: false };
    walk.visit(root)
}

struct Walk<'a> {
    nodes: usize,
    /// Variables of the loops around.
    local: Vec<&'a str>,
    in_loop: bool,
}

impl<'a> Walk<'a> {
    fn visit(&mut self, node: &'a IdedExpr) -> Result<(), ExpressionError> {
        self.nodes += 1;
        if self.nodes > Expression::NODES_MAX {
            return Err(ExpressionError::TooLarge);
        }
        match &node.expr {
            Expr::Unspecified | Expr::Literal(_) => Ok(()),
            Expr::Ident(name) => self.name(name),
            Expr::Select(select) => self.visit(&select.operand),
            Expr::List(list) => list.elements.iter().try_for_each(|element| self.visit(element)),
            Expr::Map(map) => map.entries.iter().try_for_each(|entry| self.entry(&entry.expr)),
            // There are no structs to make.
            Expr::Struct(made) => Err(ExpressionError::Function(made.type_name.clone())),
            Expr::Call(call) => {
                // What operators and macros are turned into.
                let is_operator = call.func_name.contains(['_', '@']);
                let known = if call.target.is_some() { METHODS } else { FUNCTIONS };
                if !is_operator && !known.contains(&call.func_name.as_str()) {
                    return Err(ExpressionError::Function(call.func_name.clone()));
                }
                call.target.iter().try_for_each(|target| self.visit(target))?;
                call.args.iter().try_for_each(|argument| self.visit(argument))
            }
            Expr::Comprehension(loops) => {
                self.visit(&loops.iter_range)?;
                if self.in_loop {
                    return Err(ExpressionError::NestedLoop);
                }
                self.in_loop = true;
                let outer = self.local.len();
                self.local.extend([loops.iter_var.as_str(), loops.accu_var.as_str()]);
                self.local.extend(loops.iter_var2.as_deref());
                for part in [&loops.accu_init, &loops.loop_cond, &loops.loop_step, &loops.result] {
                    self.visit(part)?;
                }
                self.local.truncate(outer);
                self.in_loop = false;
                Ok(())
            }
        }
    }

    fn entry(&mut self, entry: &'a EntryExpr) -> Result<(), ExpressionError> {
        match entry {
            EntryExpr::StructField(field) => self.visit(&field.value),
            EntryExpr::MapEntry(entry) => {
                self.visit(&entry.key)?;
                self.visit(&entry.value)
            }
        }
    }

    fn name(&self, name: &'a str) -> Result<(), ExpressionError> {
        // Types are names too: `type(path) == string`.
        let is_type =
            ["bool", "bytes", "double", "int", "list", "map", "null_type", "string", "type", "uint"]
                .contains(&name);
        if is_type || Expression::VARIABLES.contains(&name) || self.local.contains(&name) {
            return Ok(());
        }
        Err(ExpressionError::Variable(name.to_owned()))
    }
}
