//! Inference of the type of each node.

use cel::IdedExpr;
use cel::common::ast::{
    CallExpr, ComprehensionExpr, EntryExpr, Expr, ListExpr, LiteralValue, MapExpr, SelectExpr,
};

use super::functions::{OPTIONAL_METHODS, TYPE_NAMES};
use super::{Type, functions, operators, suggestions, variables};
use crate::expression::ExpressionFault;
use crate::expression::engine::fault::NodeFault;

/// Name that the parser gives to the accumulator of a macro's loop.
const LOOP_SUM: &str = "@result";

/// Infers the type of each node, innermost first, and stops at the first error.
#[derive(Default)]
pub(super) struct Checker<'e> {
    /// Variables of the enclosing loops.
    scope: Vec<(&'e str, Type)>,
}

impl<'e> Checker<'e> {
    pub(super) fn type_of(&mut self, node: &'e IdedExpr) -> Result<Type, NodeFault> {
        match &node.expr {
            Expr::Unspecified => {
                Err(NodeFault::new(node.id, ExpressionFault::Syntax("a part is missing".to_owned())))
            }
            Expr::Literal(literal) => Ok(of_literal(literal)),
            Expr::Ident(name) => self.name(node.id, name),
            Expr::Select(select) => self.select(node.id, select),
            Expr::List(list) => self.list(list),
            Expr::Map(map) => self.map(map),
            Expr::Struct(made) => {
                Err(NodeFault::new(node.id, ExpressionFault::UnknownFunction(made.type_name.clone())))
            }
            Expr::Call(call) => self.call(node.id, call),
            Expr::Comprehension(comprehension) => self.comprehension(comprehension),
        }
    }

    fn name(&self, node: u64, name: &str) -> Result<Type, NodeFault> {
        if let Some((_, local)) = self.scope.iter().rev().find(|(local, _)| *local == name) {
            return Ok(local.clone());
        }
        match variables::type_of(name) {
            Some(of_variable) => Ok(of_variable),
            None if TYPE_NAMES.contains(&name) => Ok(Type::Meta),
            None => Err(NodeFault::new(node, ExpressionFault::UnknownVariable(name.to_owned()))),
        }
    }

    /// Infers the type of `operand.field` or `has(operand.field)`.
    fn select(&mut self, node: u64, select: &'e SelectExpr) -> Result<Type, NodeFault> {
        let operand = self.type_of(&select.operand)?;
        if self.is_headers(&select.operand) {
            check_header_name(node, &select.field)?;
        }
        let value = match &operand {
            Type::Map(key, value) if matches!(**key, Type::String | Type::Dyn | Type::Unset) => {
                (**value).clone()
            }
            Type::Dyn | Type::Unset => Type::Dyn,
            _ => {
                let message = format!("a value of type {operand} has no field {}", select.field);
                let help = suggestions::for_field(&operand, &select.field);
                return Err(NodeFault::of_type(node, message, help));
            }
        };
        Ok(if select.test { Type::Bool } else { value })
    }

    fn list(&mut self, list: &'e ListExpr) -> Result<Type, NodeFault> {
        let mut element = Type::Unset;
        for (index, node) in list.elements.iter().enumerate() {
            let mut given = self.type_of(node)?;
            if list.optional_indices.contains(&index)
                && let Type::Optional(value) = given
            {
                given = *value;
            }
            element = join(&element, &given, node.id, "elements of a list")?;
        }
        Ok(Type::list(element))
    }

    fn map(&mut self, map: &'e MapExpr) -> Result<Type, NodeFault> {
        let (mut key, mut value) = (Type::Unset, Type::Unset);
        for entry in &map.entries {
            let EntryExpr::MapEntry(written) = &entry.expr else {
                return Err(NodeFault::new(
                    entry.id,
                    ExpressionFault::Syntax("not an entry of a map".to_owned()),
                ));
            };
            let given = self.type_of(&written.key)?;
            if !given.is_key() {
                let message = format!("a key of a map is bool, int, uint or string, not {given}");
                return Err(NodeFault::of_type(written.key.id, message, None));
            }
            key = join(&key, &given, written.key.id, "keys of a map")?;
            let mut given = self.type_of(&written.value)?;
            if written.optional
                && let Type::Optional(inner) = given
            {
                given = *inner;
            }
            value = join(&value, &given, written.value.id, "values of a map")?;
        }
        Ok(Type::map(key, value))
    }

    fn call(&mut self, node: u64, call: &'e CallExpr) -> Result<Type, NodeFault> {
        if let Some(header) = suggestions::header_with_dash(call) {
            return Err(header.into_fault(node));
        }
        let target = call.target.as_deref().map(|target| self.type_of(target)).transpose()?;
        let arguments =
            call.args.iter().map(|argument| self.type_of(argument)).collect::<Result<Vec<_>, _>>()?;
        if let (None, Some(operator)) = (&target, operators::spelled(&call.func_name)) {
            self.check_header_names(call)?;
            return operators::result(&call.func_name, &arguments)
                .ok_or_else(|| of_operands(node, operator, call, &arguments));
        }
        match target {
            Some(target) if OPTIONAL_METHODS.contains(&call.func_name.as_str()) => {
                of_optional_method(node, call, &target, &arguments)
            }
            target => of_function(node, call, target.as_ref(), &arguments),
        }
    }

    /// Infers the type of `all`, `exists`, `exists_one`, `map` and `filter`, as expanded by the parser's
    /// macros.
    fn comprehension(&mut self, it: &'e ComprehensionExpr) -> Result<Type, NodeFault> {
        let range = self.type_of(&it.iter_range)?;
        let element = match range {
            Type::List(element) => *element,
            Type::Map(key, _) => *key,
            Type::Dyn | Type::Unset => Type::Dyn,
            range => {
                let message = format!("a loop goes over a list or a map, not over {range}");
                return Err(NodeFault::of_type(it.iter_range.id, message, None));
            }
        };
        let start = self.type_of(&it.accu_init)?;
        let outer = self.scope.len();
        self.scope.push((&it.accu_var, start.clone()));
        self.scope.push((&it.iter_var, element));
        let condition = self.type_of(&it.loop_cond)?;
        let step = self.type_of(&it.loop_step)?;
        self.scope.truncate(outer);
        if condition != Type::Bool {
            let message = format!("the condition of a loop yields {condition}; expected bool");
            return Err(NodeFault::of_type(it.loop_cond.id, message, None));
        }
        let sum = join(&start, &step, it.loop_step.id, "steps of a loop")?;
        self.scope.push((&it.accu_var, sum));
        let result = self.type_of(&it.result);
        self.scope.truncate(outer);
        result
    }

    /// Refuses header names that no request can have: `headers` has names in lower case.
    fn check_header_names(&self, call: &CallExpr) -> Result<(), NodeFault> {
        let (map, name) = match (call.func_name.as_str(), &call.args[..]) {
            (operators::INDEX | operators::OPTIONAL_INDEX | operators::OPTIONAL_SELECT, [map, name]) => {
                (map, name)
            }
            (operators::IN, [name, map]) => (map, name),
            _ => return Ok(()),
        };
        match &name.expr {
            Expr::Literal(LiteralValue::String(text)) if self.is_headers(map) => {
                check_header_name(name.id, text.inner())
            }
            _ => Ok(()),
        }
    }

    fn is_headers(&self, node: &IdedExpr) -> bool {
        let is_local = || self.scope.iter().any(|(local, _)| *local == variables::HEADERS);
        matches!(&node.expr, Expr::Ident(name) if name == variables::HEADERS) && !is_local()
    }
}

fn of_literal(literal: &LiteralValue) -> Type {
    match literal {
        LiteralValue::Boolean(_) => Type::Bool,
        LiteralValue::Bytes(_) => Type::Bytes,
        LiteralValue::Double(_) => Type::Double,
        LiteralValue::Int(_) => Type::Int,
        LiteralValue::Null => Type::Null,
        LiteralValue::String(_) => Type::String,
        LiteralValue::UInt(_) => Type::Uint,
    }
}

fn join(one: &Type, other: &Type, node: u64, what: &str) -> Result<Type, NodeFault> {
    one.join(other).ok_or_else(|| {
        let message = format!("{what} have one type; found {one} and {other}");
        NodeFault::of_type(node, message, None)
    })
}

/// Returns the error for an operator with operands of wrong types. The expansion of a macro contains
/// operators of its own; there the error points to the test in the source text.
fn of_operands(node: u64, operator: &str, call: &CallExpr, given: &[Type]) -> NodeFault {
    let help = suggestions::for_operator(call, given);
    let is_sum = |part: &IdedExpr| matches!(&part.expr, Expr::Ident(name) if name == LOOP_SUM);
    let test = match (&call.args[..], given) {
        ([sum, test], [_, of_test]) if is_sum(sum) => Some((test, of_test)),
        ([test, _, sum], [of_test, ..]) if is_sum(sum) => Some((test, of_test)),
        _ => None,
    };
    if let Some((test, of_test)) = test {
        return NodeFault::of_type(
            test.id,
            format!("the test of a loop yields {of_test}; expected bool"),
            help,
        );
    }
    let found: Vec<String> = given.iter().map(Type::to_string).collect();
    NodeFault::of_type(node, operators::mismatch(operator, &found), help)
}

fn check_header_name(node: u64, name: &str) -> Result<(), NodeFault> {
    let lower = name.to_ascii_lowercase();
    if lower == name {
        return Ok(());
    }
    let message = format!("`headers` has lower-case names, so it never has {name:?}");
    Err(NodeFault::of_type(node, message, Some(format!("write '{lower}'"))))
}

fn of_function(
    node: u64,
    call: &CallExpr,
    target: Option<&Type>,
    arguments: &[Type],
) -> Result<Type, NodeFault> {
    let name = call.func_name.as_str();
    let Some(signature) = functions::find(name, target.is_some()) else {
        return Err(match functions::find(name, target.is_none()) {
            Some(_) => {
                let (is, write) = match target {
                    Some(_) => ("a function", format!("write {name}(...)")),
                    None => ("a method", format!("write x.{name}(...)")),
                };
                NodeFault::of_type(node, format!("{name} is {is}"), Some(write))
            }
            None => NodeFault::new(node, ExpressionFault::UnknownFunction(name.to_owned())),
        });
    };
    let wanted = signature.arguments.len();
    if arguments.len() != wanted {
        let noun = if wanted == 1 { "argument" } else { "arguments" };
        let message = format!("{name} takes {wanted} {noun}; found {}", arguments.len());
        return Err(NodeFault::of_type(node, message, None));
    }
    if let (Some(parameter), Some(given)) = (signature.target, target)
        && !parameter.takes(given)
    {
        let message = format!("{name} is a method of {}; found {given}", parameter.listed());
        return Err(NodeFault::of_type(
            node,
            message,
            suggestions::for_argument(given, call.target.as_deref()),
        ));
    }
    for (index, (parameter, given)) in signature.arguments.iter().zip(arguments).enumerate() {
        if !parameter.takes(given) {
            let message = format!("{name} takes {}; found {given}", parameter.listed());
            let argument = call.args.get(index);
            let at = argument.map_or(node, |argument| argument.id);
            return Err(NodeFault::of_type(at, message, suggestions::for_argument(given, argument)));
        }
    }
    Ok(signature.result.clone())
}

/// Infers the type of `hasValue()`, `value()`, `orValue(x)` and `or(optional)`.
fn of_optional_method(
    node: u64,
    call: &CallExpr,
    target: &Type,
    arguments: &[Type],
) -> Result<Type, NodeFault> {
    let name = call.func_name.as_str();
    let held = match target {
        Type::Optional(held) => (**held).clone(),
        open if open.is_open() => Type::Dyn,
        given => {
            let message = format!("{name} is a method of optional values; found {given}");
            let help = "headers[?'name'] yields one".to_owned();
            return Err(NodeFault::of_type(node, message, Some(help)));
        }
    };
    let fault = |expected: &str| {
        let found: Vec<String> = arguments.iter().map(Type::to_string).collect();
        let found = if found.is_empty() { "nothing".to_owned() } else { found.join(", ") };
        NodeFault::of_type(node, format!("{name} takes {expected}; found {found}"), None)
    };
    match (name, arguments) {
        ("hasValue", []) => Ok(Type::Bool),
        ("value", []) => Ok(held),
        ("hasValue" | "value", _) => Err(fault("no argument")),
        ("orValue", [given]) => held.join(given).ok_or_else(|| fault(&held.to_string())),
        ("or", [given]) => target.join(given).ok_or_else(|| fault(&target.to_string())),
        _ => Err(fault("one argument")),
    }
}
