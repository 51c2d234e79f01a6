//! Compiles CEL expressions, templates and header rules, and reports the faults in them.

use std::ops::Range;

use weir_http::expression::{Expression, ExpressionError, ExpressionFault, ExpressionUse};
use weir_http::{HeaderRule, RewriteError, RouteHeaders, RouteRewriter, Template, TemplateError};

use crate::syntax::diagnostic::Problem;
use crate::syntax::source::Located;
use crate::syntax::tree::short;
use crate::syntax::written;
use crate::values::suggest;
use crate::values::table::Table;

/// Reads the expression at `key`. Reports a fault at the part of the expression that causes it.
pub(crate) fn read(table: &Table<'_, '_>, key: &str, wanted: ExpressionUse) -> Option<Located<Expression>> {
    let text = table.text_if(key)?;
    match check(&text.value, wanted) {
        Ok(expression) => Some(Located { value: expression, span: text.span }),
        Err(BadExpression { at, message, help }) => {
            let span = written::part(&table.cx.map, text.span, &text.value, at);
            table.report(key, span, message, help);
            None
        }
    }
}

/// Warns about a route condition that fails for requests without a certain header. `denies`: the route denies
/// the requests that match.
pub(crate) fn warn_of_missing_header(
    table: &Table<'_, '_>,
    key: &str,
    condition: &Located<Expression>,
    denies: bool,
) {
    let Some(header) = condition.value.unguarded_header() else { return };
    let span = written::part(&table.cx.map, condition.span, condition.value.text(), header.at.clone());
    let name = short(&header.name);
    let effect = match denies {
        true => "the route denies, so it takes such requests",
        false => "the route does not take such requests",
    };
    let message = format!(
        "{}: the expression fails for a request without the header {name}; {effect}",
        table.subject.key(key)
    );
    let help = format!("write headers[?'{name}'].orValue(''), or test '{name}' in headers first");
    table.cx.report(Problem::warning(span, message).help(help));
}

/// A fault in an expression.
#[derive(Debug)]
struct BadExpression {
    /// Bytes of the expression that cause the fault; empty if no single part does.
    at: Range<usize>,
    message: String,
    help: Option<String>,
}

/// Compiles an expression.
///
/// # Errors
/// If it is nested too deeply or does not compile for this use.
fn check(expression: &str, wanted: ExpressionUse) -> Result<Expression, BadExpression> {
    // The parser recurses: without a limit, nested brackets would overflow its stack.
    const DEPTH_MAX: usize = 32;
    if depth(expression) > DEPTH_MAX {
        let message = format!("brackets or signs in an expression are nested at most {DEPTH_MAX} deep");
        return Err(BadExpression { at: 0..0, message, help: None });
    }
    Expression::compile(expression, wanted).map_err(|ExpressionError { fault, at }| {
        let message = match &fault {
            ExpressionFault::Syntax(message) => format!("not a CEL expression: {}", brief(message)),
            fault => fault.to_string(),
        };
        BadExpression { at, message, help: help(fault) }
    })
}

fn help(fault: ExpressionFault) -> Option<String> {
    let close = match &fault {
        ExpressionFault::UnknownVariable(name) => {
            suggest::closest(name, Expression::VARIABLES.iter().copied())
        }
        ExpressionFault::UnknownFunction(name) => suggest::closest(name, Expression::functions()),
        _ => None,
    };
    match fault {
        ExpressionFault::Type { help, .. } => help,
        _ => close.map(suggest::did_you_mean),
    }
}

/// Returns the parser's message without its list of all expected tokens.
fn brief(message: &str) -> &str {
    let message = message.strip_prefix("Syntax error: ").unwrap_or(message);
    message.split(" expecting ").next().unwrap_or(message)
}

/// Checks a text that may contain variables. An error has the cause and, if there is one, a hint.
pub(crate) fn check_template(text: &str) -> Result<(), (String, Option<String>)> {
    Template::parse(text).map(drop).map_err(bad_template)
}

/// A fault in a header rule.
pub(crate) struct BadRule {
    /// True if the fault is in the value, not in the name.
    pub(crate) of_value: bool,
    pub(crate) message: String,
    pub(crate) help: Option<String>,
}

/// Checks a header rule.
///
/// # Errors
/// If its name or its value cannot be used.
pub(crate) fn check_rule(rule: &HeaderRule) -> Result<(), BadRule> {
    let headers = RouteHeaders { request: vec![rule.clone()], response: Vec::new() };
    match RouteRewriter::compile(None, &headers) {
        Ok(_) => Ok(()),
        Err(RewriteError::Value(_, cause)) => {
            let (message, help) = bad_template(cause);
            Err(BadRule { of_value: true, message, help })
        }
        Err(cause) => Err(BadRule { of_value: false, message: cause.to_string(), help: None }),
    }
}

fn bad_template(cause: TemplateError) -> (String, Option<String>) {
    match cause {
        TemplateError::Unknown(name) => {
            let names = Template::VARIABLES;
            let help = match suggest::closest(&name, names.iter().copied()) {
                Some(close) => format!("did you mean {{{close}}}?"),
                None => format!("variables are {}; {{{{ and }}}} stand for braces", names.join(", ")),
            };
            (format!("there is no variable {{{}}}", short(&name)), Some(help))
        }
        cause => (cause.to_string(), None),
    }
}

/// Returns an upper bound of the nesting depth of an expression. The parser never nests deeper, because
/// brackets inside texts count too.
fn depth(expression: &str) -> usize {
    let mut open = 0_usize;
    let mut signs = 0_usize;
    let mut deepest = 0;
    for byte in expression.bytes() {
        match byte {
            b'(' | b'[' | b'{' => open += 1,
            b')' | b']' | b'}' => open = open.saturating_sub(1),
            // Each of these operators nests the operand to its right.
            b'!' | b'-' | b'?' => signs += 1,
            _ => {}
        }
        deepest = deepest.max(open);
    }
    deepest + signs
}

#[cfg(test)]
mod tests {
    use super::*;

    fn condition(text: &str) -> Result<Expression, BadExpression> {
        check(text, ExpressionUse::Condition)
    }

    #[test]
    fn what_compiles_is_accepted() {
        condition("path.startsWith('/api') && headers['x-a'] == 'b' && client_ip != ''").unwrap();
    }

    #[test]
    fn deep_nesting_is_refused_before_it_overflows_a_stack() {
        for open in ["(", "[", "{", "!", "-", "a ? ", "a[", "size(", "!(", "{1:"] {
            assert!(condition(&open.repeat(1_000)).unwrap_err().message.contains("nested"), "{open}");
        }
    }

    #[test]
    fn the_deepest_permitted_nesting_is_read() {
        for (open, close) in [("(", ")"), ("[", "]"), ("!", ""), ("-", ""), ("size(", ")")] {
            let text = format!("{}path{}", open.repeat(32), close.repeat(32));
            assert!(!condition(&text).is_err_and(|cause| cause.message.contains("nested")), "{open}");
        }
    }

    #[test]
    fn long_flat_expressions_are_refused_or_accepted_but_never_overflow() {
        for (start, part) in
            [("true", " && true"), ("1 == 1", " || 1 == 1"), ("path", ".a"), ("1", "+1"), ("path", " < path")]
        {
            for count in [10, 100, 4096 / part.len() - 2] {
                let _ = condition(&format!("{start}{}", part.repeat(count)));
            }
        }
    }

    #[test]
    fn a_strange_expression_is_an_error_and_no_panic() {
        for text in [
            "",
            " ",
            "\"",
            "'",
            "a.",
            ".",
            "\u{0}",
            "é",
            "1 +",
            "matches(path, x)",
            "'\\u{110000}'",
            "0x",
            "1e999",
        ] {
            assert!(condition(text).is_err(), "{text:?}");
        }
    }
}
