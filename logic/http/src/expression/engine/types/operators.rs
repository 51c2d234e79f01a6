//! The operators of expressions: operand types and result types.

use cel::common::ast::operators as of_parser;

use super::Type;

pub(super) const IN: &str = of_parser::IN;
pub(super) const INDEX: &str = of_parser::INDEX;
pub(super) const OPTIONAL_INDEX: &str = of_parser::OPT_INDEX;
pub(super) const OPTIONAL_SELECT: &str = of_parser::OPT_SELECT;
pub(super) const SUBTRACT: &str = of_parser::SUBSTRACT;

/// Returns the symbol of an operator, from its name in the parser.
pub(super) fn spelled(name: &str) -> Option<&'static str> {
    Some(match name {
        of_parser::CONDITIONAL => "? :",
        of_parser::LOGICAL_AND => "&&",
        of_parser::LOGICAL_OR => "||",
        of_parser::LOGICAL_NOT => "!",
        of_parser::SUBSTRACT | of_parser::NEGATE => "-",
        of_parser::ADD => "+",
        of_parser::MULTIPLY => "*",
        of_parser::DIVIDE => "/",
        of_parser::MODULO => "%",
        of_parser::EQUALS => "==",
        of_parser::NOT_EQUALS => "!=",
        of_parser::GREATER_EQUALS => ">=",
        of_parser::LESS_EQUALS => "<=",
        of_parser::GREATER => ">",
        of_parser::LESS => "<",
        of_parser::IN => "in",
        of_parser::INDEX => "[ ]",
        of_parser::OPT_INDEX => "[? ]",
        of_parser::OPT_SELECT => ".?",
        // Part of the expansion of `all` and `exists`.
        of_parser::NOT_STRICTLY_FALSE => "loop condition",
        _ => return None,
    })
}

/// Returns the result type of an operator; `None` if it does not accept the operand types.
pub(super) fn result(name: &str, given: &[Type]) -> Option<Type> {
    match (name, given) {
        (of_parser::CONDITIONAL, [condition, yes, no]) if is_bool(condition) => yes.join(no),
        (of_parser::LOGICAL_AND | of_parser::LOGICAL_OR, [left, right]) => {
            (is_bool(left) && is_bool(right)).then_some(Type::Bool)
        }
        (of_parser::LOGICAL_NOT | of_parser::NOT_STRICTLY_FALSE, [operand]) => {
            is_bool(operand).then_some(Type::Bool)
        }
        (of_parser::EQUALS | of_parser::NOT_EQUALS, [left, right]) => {
            left.is_comparable(right).then_some(Type::Bool)
        }
        (
            of_parser::GREATER_EQUALS | of_parser::LESS_EQUALS | of_parser::GREATER | of_parser::LESS,
            [left, right],
        ) => left.is_ordered(right).then_some(Type::Bool),
        (of_parser::ADD, [left, right]) => {
            let sum = left.join(right)?;
            let adds =
                sum.is_number() || sum.is_open() || matches!(sum, Type::String | Type::Bytes | Type::List(_));
            adds.then_some(sum)
        }
        (of_parser::SUBSTRACT | of_parser::MULTIPLY | of_parser::DIVIDE, [left, right]) => {
            left.join(right).filter(|it| it.is_number() || it.is_open())
        }
        (of_parser::MODULO, [left, right]) => {
            left.join(right).filter(|it| matches!(it, Type::Int | Type::Uint) || it.is_open())
        }
        (of_parser::NEGATE, [operand]) => {
            let negates = matches!(operand, Type::Int | Type::Double) || operand.is_open();
            negates.then(|| operand.clone())
        }
        (IN, [element, container]) => is_member(element, container).then_some(Type::Bool),
        (INDEX, [container, index]) => indexed(container, index),
        (OPTIONAL_INDEX | OPTIONAL_SELECT, [container, index]) => {
            let container = match container {
                Type::Optional(held) => held,
                container => container,
            };
            indexed(container, index).map(Type::optional)
        }
        _ => None,
    }
}

/// Describes a type mismatch: the expected and the found operand types.
pub(super) fn mismatch(operator: &str, found: &[String]) -> String {
    let expected = match operator {
        "&&" | "||" => "takes bool on both sides",
        "!" => "takes bool",
        "? :" => "takes bool, then two values of one type",
        "==" | "!=" => "compares values of one type, or numbers",
        "<" | "<=" | ">" | ">=" => "compares numbers, strings, bytes or bools",
        "+" => "adds numbers of one type, or joins strings, bytes or lists",
        "*" | "/" => "takes numbers of one type",
        "-" if found.len() == 1 => "takes int or double",
        "-" => "takes numbers of one type",
        "%" => "takes two int or two uint",
        "in" => "takes a value, then a list or a map of such values",
        "[ ]" | "[? ]" | ".?" => "takes a list and an int, or a map and a key of its type",
        _ => "takes bool",
    };
    format!("`{operator}` {expected}; found {}", found.join(" and "))
}

/// Accepts values of hidden type: an operator on them yields another hidden type, or fails at evaluation.
fn is_bool(given: &Type) -> bool {
    *given == Type::Bool || given.is_open()
}

fn is_member(element: &Type, container: &Type) -> bool {
    match container {
        Type::List(of) => element.is_comparable(of),
        Type::Map(key, _) => element.is_key() && element.is_comparable(key),
        container => container.is_open(),
    }
}

fn indexed(container: &Type, index: &Type) -> Option<Type> {
    match container {
        Type::List(element) if matches!(index, Type::Int | Type::Uint) || index.is_open() => {
            Some((**element).clone())
        }
        Type::Map(key, value) if index.is_key() && index.is_comparable(key) => Some((**value).clone()),
        Type::Dyn | Type::Unset => Some(Type::Dyn),
        _ => None,
    }
}
