//! Finds headers that an expression reads without a check that the request has them; the evaluation fails if
//! one is missing. A test such as `'x-a' in headers` guards the other operands of `&&`, `||` and `? :`. The
//! order of the operands does not matter in CEL: both `false && error` and `error && false` are false
//! (cel-spec `doc/langdef.md`, "Logical Operators").

use cel::IdedExpr;
use cel::common::ast::{CallExpr, EntryExpr, Expr, LiteralValue, operators};

use super::variables;

/// A header that is read without a guard.
pub(super) struct UnguardedRead<'e> {
    pub(super) node: u64,
    pub(super) header: &'e str,
}

/// Returns the first header that is read without a guard. Considers only names in string literals.
pub(super) fn unguarded(root: &IdedExpr) -> Option<UnguardedRead<'_>> {
    find(root, &[])
}

fn find<'e>(node: &'e IdedExpr, known: &[&str]) -> Option<UnguardedRead<'e>> {
    match &node.expr {
        Expr::Unspecified | Expr::Literal(_) | Expr::Ident(_) => None,
        Expr::Select(select) => match is_headers(&select.operand) {
            true if select.test => None,
            true => read(node.id, &select.field, known),
            false => find(&select.operand, known),
        },
        Expr::List(list) => list.elements.iter().find_map(|element| find(element, known)),
        Expr::Map(map) => map.entries.iter().find_map(|entry| of_entry(&entry.expr, known)),
        Expr::Struct(made) => made.entries.iter().find_map(|entry| of_entry(&entry.expr, known)),
        Expr::Call(call) => of_call(node.id, call, known),
        Expr::Comprehension(it) => {
            [&it.iter_range, &it.loop_cond, &it.loop_step].into_iter().find_map(|part| find(part, known))
        }
    }
}

fn of_entry<'e>(entry: &'e EntryExpr, known: &[&str]) -> Option<UnguardedRead<'e>> {
    match entry {
        EntryExpr::StructField(field) => find(&field.value, known),
        EntryExpr::MapEntry(entry) => find(&entry.key, known).or_else(|| find(&entry.value, known)),
    }
}

fn of_call<'e>(node: u64, call: &'e CallExpr, known: &[&str]) -> Option<UnguardedRead<'e>> {
    let with = |guard: &'e IdedExpr, holds: bool| [known, &present(guard, holds)].concat();
    match (call.func_name.as_str(), &call.args[..]) {
        // Each side guards the other: the right one matters only where the left one is true, and vice versa.
        (operators::LOGICAL_AND, [left, right]) => {
            find(left, &with(right, true)).or_else(|| find(right, &with(left, true)))
        }
        (operators::LOGICAL_OR, [left, right]) => {
            find(left, &with(right, false)).or_else(|| find(right, &with(left, false)))
        }
        (operators::CONDITIONAL, [condition, yes, no]) => find(condition, known)
            .or_else(|| find(yes, &with(condition, true)))
            .or_else(|| find(no, &with(condition, false))),
        (operators::INDEX, [map, name]) if is_headers(map) => match literal(name) {
            Some(header) => read(node, header, known),
            None => find(name, known),
        },
        // A missing header yields an empty optional, so it needs no guard.
        (operators::OPT_INDEX | operators::OPT_SELECT, [map, name]) if is_headers(map) => find(name, known),
        (_, arguments) => {
            call.target.iter().map(|target| &**target).chain(arguments).find_map(|part| find(part, known))
        }
    }
}

fn read<'e>(node: u64, header: &'e str, known: &[&str]) -> Option<UnguardedRead<'e>> {
    (!known.contains(&header)).then_some(UnguardedRead { node, header })
}

/// Returns the headers that a request must have if `guard` evaluates to `holds`.
fn present(guard: &IdedExpr, holds: bool) -> Vec<&str> {
    let call = match &guard.expr {
        Expr::Select(select) if select.test && holds && is_headers(&select.operand) => {
            return vec![&select.field];
        }
        Expr::Call(call) => call,
        _ => return Vec::new(),
    };
    match (call.func_name.as_str(), &call.args[..]) {
        (operators::IN, [name, map]) if holds && is_headers(map) => literal(name).into_iter().collect(),
        (operators::LOGICAL_NOT, [operand]) => present(operand, !holds),
        (operators::LOGICAL_AND | operators::LOGICAL_OR, [left, right]) => {
            let (mut of_left, of_right) = (present(left, holds), present(right, holds));
            // `&&` is true only if both sides are true, and `||` is false only if both sides are false.
            if holds == (call.func_name == operators::LOGICAL_AND) {
                of_left.extend(of_right);
            } else {
                of_left.retain(|header| of_right.contains(header));
            }
            of_left
        }
        _ => Vec::new(),
    }
}

fn is_headers(node: &IdedExpr) -> bool {
    matches!(&node.expr, Expr::Ident(name) if name == variables::HEADERS)
}

fn literal(node: &IdedExpr) -> Option<&str> {
    match &node.expr {
        Expr::Literal(LiteralValue::String(text)) => Some(text.inner()),
        _ => None,
    }
}
