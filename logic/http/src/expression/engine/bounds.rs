//! Limits on the size of an expression: the number of nodes and one level of loops, so that no request can
//! make it expensive.

use cel::IdedExpr;
use cel::common::ast::{EntryExpr, Expr};

use super::fault::NodeFault;
use super::{Expression, ExpressionFault};

pub(super) fn check(root: &IdedExpr) -> Result<(), NodeFault> {
    Walk { nodes: 0, in_loop: false }.visit(root)
}

struct Walk {
    nodes: usize,
    in_loop: bool,
}

impl Walk {
    fn visit(&mut self, node: &IdedExpr) -> Result<(), NodeFault> {
        self.nodes += 1;
        if self.nodes > Expression::NODES_MAX {
            return Err(NodeFault::new(0, ExpressionFault::TooLarge));
        }
        match &node.expr {
            Expr::Unspecified | Expr::Literal(_) | Expr::Ident(_) => Ok(()),
            Expr::Select(select) => self.visit(&select.operand),
            Expr::List(list) => list.elements.iter().try_for_each(|element| self.visit(element)),
            Expr::Map(map) => map.entries.iter().try_for_each(|entry| self.entry(&entry.expr)),
            Expr::Struct(made) => made.entries.iter().try_for_each(|entry| self.entry(&entry.expr)),
            Expr::Call(call) => {
                call.target.iter().try_for_each(|target| self.visit(target))?;
                call.args.iter().try_for_each(|argument| self.visit(argument))
            }
            Expr::Comprehension(loops) => {
                self.visit(&loops.iter_range)?;
                if self.in_loop {
                    return Err(NodeFault::new(node.id, ExpressionFault::NestedLoop));
                }
                self.in_loop = true;
                for part in [&loops.accu_init, &loops.loop_cond, &loops.loop_step, &loops.result] {
                    self.visit(part)?;
                }
                self.in_loop = false;
                Ok(())
            }
        }
    }

    fn entry(&mut self, entry: &EntryExpr) -> Result<(), NodeFault> {
        match entry {
            EntryExpr::StructField(field) => self.visit(&field.value),
            EntryExpr::MapEntry(entry) => {
                self.visit(&entry.key)?;
                self.visit(&entry.value)
            }
        }
    }
}
