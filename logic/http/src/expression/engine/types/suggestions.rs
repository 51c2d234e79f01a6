//! Suggestions for expressions with type errors.

use cel::IdedExpr;
use cel::common::ast::{CallExpr, Expr, LiteralValue};

use super::{Type, operators};
use crate::expression::ExpressionUse;
use crate::expression::engine::fault::NodeFault;
use crate::expression::engine::variables;

/// A header name with a dash after a dot: CEL reads `headers.x-a` as `headers.x` minus `a`.
pub(super) struct HeaderWithDash {
    name: String,
}

impl HeaderWithDash {
    pub(super) fn into_fault(self, node: u64) -> NodeFault {
        let message =
            "`-` takes numbers of one type; a header's name with a dash stands in brackets".to_owned();
        NodeFault::of_type(node, message, Some(format!("write headers['{}']", self.name)))
    }
}

/// Finds `headers.x-a`.
pub(super) fn header_with_dash(call: &CallExpr) -> Option<HeaderWithDash> {
    let (operators::SUBTRACT, [left, right]) = (call.func_name.as_str(), &call.args[..]) else { return None };
    let (Expr::Select(select), Expr::Ident(rest)) = (&left.expr, &right.expr) else { return None };
    let of_headers = matches!(&select.operand.expr, Expr::Ident(name) if name == variables::HEADERS);
    of_headers.then(|| HeaderWithDash { name: format!("{}-{rest}", select.field).to_ascii_lowercase() })
}

/// Suggests a fix for an operator with operands of wrong types.
pub(super) fn for_operator(call: &CallExpr, given: &[Type]) -> Option<String> {
    let sign = operators::spelled(&call.func_name)?;
    match (sign, &call.args[..], given) {
        ("in", [element, network], [Type::String, Type::String]) => {
            Some(match (&element.expr, literal(network)) {
                (Expr::Ident(name), Some(text)) if name == variables::CLIENT_IP && is_network(text) => {
                    format!("in a route, write the key client = \"{text}\" for a network")
                }
                (_, Some(text)) => format!("write x == '{text}', x in ['{text}'] or x.contains('{text}')"),
                (_, None) => "for a part of a string, write x.contains(y)".to_owned(),
            })
        }
        (_, [_, _], [_, Type::Null] | [Type::Null, _]) if matches!(sign, "==" | "!=") => {
            Some("for a header that may be missing, write 'name' in headers".to_owned())
        }
        ("==" | "!=" | "<" | "<=" | ">" | ">=" | "+", [_, right], [Type::String, number])
            if number.is_number() =>
        {
            Some(match (sign, number_text(right)) {
                ("+" | "==" | "!=", Some(text)) => format!("write '{text}' for a string"),
                ("+", None) => "write string(x) for the number".to_owned(),
                _ => "write int(x) for a string that holds a number, or size(x) for its length".to_owned(),
            })
        }
        ("+", _, [number, Type::String]) if number.is_number() => {
            Some("write string(x) for the number".to_owned())
        }
        ("&&" | "||" | "!" | "? :", ..) if given.contains(&Type::String) && !is_condition(sign, given) => {
            Some("compare the string with something, for example x != ''".to_owned())
        }
        _ if given.iter().any(|it| matches!(it, Type::Optional(_))) => Some(OR_VALUE.to_owned()),
        ("+" | "-" | "*" | "/", [_, _], [left, right])
            if left != right && left.is_number() && right.is_number() =>
        {
            Some("write int(x), uint(x) or double(x) for one of the two".to_owned())
        }
        _ => None,
    }
}

/// Returns true if the condition of `? :` is a bool, so that the error is in its values.
fn is_condition(sign: &str, given: &[Type]) -> bool {
    sign == "? :" && given.first() == Some(&Type::Bool)
}

const OR_VALUE: &str = "write x.orValue('') for a value that may be missing";

/// Suggests a fix for an argument, or a method's target, of the wrong type.
pub(super) fn for_argument(given: &Type, node: Option<&IdedExpr>) -> Option<String> {
    match given {
        Type::Optional(_) => Some(OR_VALUE.to_owned()),
        given if given.is_number() => Some(match node.and_then(number_text) {
            Some(text) => format!("write '{text}' for a string"),
            None => "write string(x) for the number".to_owned(),
        }),
        _ => None,
    }
}

/// Suggests a fix for field access on a value without fields.
pub(super) fn for_field(operand: &Type, field: &str) -> Option<String> {
    match operand {
        Type::Optional(_) => Some(OR_VALUE.to_owned()),
        Type::String | Type::Bytes | Type::List(_) if matches!(field, "length" | "len") => {
            Some("write x.size()".to_owned())
        }
        _ if super::functions::find(field, true).is_some() => Some(format!("write x.{field}(...)")),
        _ => None,
    }
}

/// Suggests a fix for an expression with the wrong result type.
pub(super) fn for_result(given: &Type, wanted: ExpressionUse) -> Option<String> {
    match (given, wanted) {
        (Type::Optional(_), _) => Some(OR_VALUE.to_owned()),
        (Type::Dyn, _) => Some("leave out dyn(), or compare its value".to_owned()),
        (Type::String, ExpressionUse::Condition) => {
            Some("compare it, for example path == '/login' or path.startsWith('/api/')".to_owned())
        }
        (given, ExpressionUse::Condition) if given.is_number() => {
            Some("compare it, for example path.size() > 200".to_owned())
        }
        (Type::Map(..), _) => Some("take one entry, for example headers['host']".to_owned()),
        (Type::List(_), ExpressionUse::Key) => Some("take one element, for example x[0]".to_owned()),
        _ => None,
    }
}

fn literal(node: &IdedExpr) -> Option<&str> {
    match &node.expr {
        Expr::Literal(LiteralValue::String(text)) => Some(text.inner()),
        _ => None,
    }
}

fn number_text(node: &IdedExpr) -> Option<String> {
    match &node.expr {
        Expr::Literal(LiteralValue::Int(number)) => Some(number.inner().to_string()),
        Expr::Literal(LiteralValue::UInt(number)) => Some(number.inner().to_string()),
        Expr::Literal(LiteralValue::Double(number)) => Some(number.inner().to_string()),
        _ => None,
    }
}

fn is_network(text: &str) -> bool {
    text.parse::<ipnet::IpNet>().is_ok() || text.parse::<std::net::IpAddr>().is_ok()
}
