//! Regular expressions of `matches`, compiled once. CEL's own `matches` compiles its pattern at every call.
//! Here, a variable that holds the compiled pattern replaces the literal.

use cel::common::ast::{CallExpr, EntryExpr, Expr, LiteralValue};
use cel::common::types::{CelBool, CelString, STRING_TYPE, Type};
use cel::common::value::{CowVal, StaticVal, Val};
use cel::{Env, ExecutionError, IdedExpr};
use regex::{Regex, RegexBuilder};

use super::ExpressionFault;
use super::fault::NodeFault;

/// A compiled pattern as a CEL value.
#[derive(Debug, Clone)]
pub(super) struct Pattern(Regex);

static PATTERN_TYPE: Type = pattern_type();

const fn pattern_type() -> Type {
    Type::new_unspecified_type("weir.pattern")
}

/// Prefix of the variables; no identifier in an expression can start with `@`.
const NAME_START: &str = "@pattern";
/// Maximum memory of one compiled pattern in bytes.
const COMPILED_BYTES_MAX: usize = 1 << 20;

/// Replaces the patterns in an expression by variables and returns them in order.
pub(super) fn take(root: &mut IdedExpr) -> Result<Vec<Pattern>, NodeFault> {
    let mut patterns = Vec::new();
    visit(root, &mut patterns)?;
    Ok(patterns)
}

/// Returns the index of the pattern for a variable name.
pub(super) fn index(name: &str) -> Option<usize> {
    name.strip_prefix(NAME_START)?.parse().ok()
}

/// Returns CEL's standard library, with `matches` for compiled patterns.
pub(super) fn environment() -> Result<Env, NodeFault> {
    let mut env = Env::stdlib();
    env.add_member_overload("matches", "weir_matches", STRING_TYPE, vec![pattern_type()], matches)
        .map_err(|error| NodeFault::new(0, ExpressionFault::Syntax(error.to_string())))?;
    Ok(env)
}

fn matches<'b, 'v>(arguments: Vec<CowVal<'b, 'v>>) -> Result<CowVal<'b, 'v>, ExecutionError> {
    let text = arguments.first().and_then(|text| text.downcast_ref::<CelString<'_>>());
    let pattern = arguments.get(1).and_then(|pattern| pattern.downcast_ref::<Pattern>());
    match (text, pattern) {
        (Some(text), Some(pattern)) => Ok(CowVal::owned(CelBool::from(pattern.0.is_match(text.inner())))),
        _ => Err(ExecutionError::missing_argument_or_target()),
    }
}

fn visit(node: &mut IdedExpr, patterns: &mut Vec<Pattern>) -> Result<(), NodeFault> {
    match &mut node.expr {
        Expr::Unspecified | Expr::Literal(_) | Expr::Ident(_) => Ok(()),
        Expr::Select(select) => visit(&mut select.operand, patterns),
        Expr::List(list) => list.elements.iter_mut().try_for_each(|element| visit(element, patterns)),
        Expr::Map(map) => map.entries.iter_mut().try_for_each(|entry| visit_entry(&mut entry.expr, patterns)),
        Expr::Struct(made) => {
            made.entries.iter_mut().try_for_each(|entry| visit_entry(&mut entry.expr, patterns))
        }
        Expr::Call(call) => {
            take_pattern(node.id, call, patterns)?;
            call.target.iter_mut().try_for_each(|target| visit(target, patterns))?;
            call.args.iter_mut().try_for_each(|argument| visit(argument, patterns))
        }
        Expr::Comprehension(loops) => [
            &mut loops.iter_range,
            &mut loops.accu_init,
            &mut loops.loop_cond,
            &mut loops.loop_step,
            &mut loops.result,
        ]
        .into_iter()
        .try_for_each(|part| visit(part, patterns)),
    }
}

fn visit_entry(entry: &mut EntryExpr, patterns: &mut Vec<Pattern>) -> Result<(), NodeFault> {
    match entry {
        EntryExpr::StructField(field) => visit(&mut field.value, patterns),
        EntryExpr::MapEntry(entry) => {
            visit(&mut entry.key, patterns)?;
            visit(&mut entry.value, patterns)
        }
    }
}

fn take_pattern(node: u64, call: &mut CallExpr, patterns: &mut Vec<Pattern>) -> Result<(), NodeFault> {
    if call.func_name != "matches" {
        return Ok(());
    }
    let [argument] = &mut call.args[..] else {
        return Err(NodeFault::new(node, ExpressionFault::Pattern));
    };
    let Expr::Literal(LiteralValue::String(text)) = &argument.expr else {
        return Err(NodeFault::new(argument.id, ExpressionFault::Pattern));
    };
    let regex = RegexBuilder::new(text.inner())
        .size_limit(COMPILED_BYTES_MAX)
        .build()
        .map_err(|error| NodeFault::new(argument.id, ExpressionFault::InvalidPattern(error.to_string())))?;
    argument.expr = Expr::Ident(format!("{NAME_START}{}", patterns.len()));
    patterns.push(Pattern(regex));
    Ok(())
}

impl Val for Pattern {
    fn get_type(&self) -> &Type {
        &PATTERN_TYPE
    }

    fn cel_type() -> &'static Type {
        &PATTERN_TYPE
    }

    fn clone_as_boxed<'v>(&self) -> Box<dyn Val + 'v> {
        Box::new(self.clone())
    }

    fn as_any(&self) -> Option<&dyn std::any::Any> {
        Some(self)
    }
}

impl StaticVal for Pattern {}
