//! CEL expressions, templates and header rules: whether they compile.

use weir_http::expression::{Expression, ExpressionError};
use weir_http::{HeaderRule, RewriteError, RouteHeaders, RouteRewriter, Template, TemplateError};

use crate::suggest;
use crate::tree::short;

/// Says what is wrong with an expression.
pub(crate) fn check(expression: &str) -> Result<(), String> {
    // The parser recurses: without a limit, brackets in brackets would overflow its stack.
    const DEPTH_MAX: usize = 32;
    if depth(expression) > DEPTH_MAX {
        return Err(format!("brackets or signs in an expression are nested at most {DEPTH_MAX} deep"));
    }
    match Expression::compile(expression) {
        Ok(_) => Ok(()),
        Err(ExpressionError::Syntax(message)) => Err(format!("not a CEL expression: {}", brief(&message))),
        Err(cause) => Err(cause.to_string()),
    }
}

/// The parser's message without its list of everything that could have stood there.
fn brief(message: &str) -> &str {
    let message = message.strip_prefix("Syntax error: ").unwrap_or(message);
    message.split(" expecting ").next().unwrap_or(message)
}

/// Says what is wrong with a location that may hold variables, and what to do about it.
pub(crate) fn check_template(text: &str) -> Result<(), (String, Option<String>)> {
    Template::parse(text).map(drop).map_err(bad_template)
}

/// What is wrong with a header rule.
pub(crate) struct BadRule {
    /// The value is to blame, not the name.
    pub(crate) of_value: bool,
    pub(crate) message: String,
    pub(crate) help: Option<String>,
}

/// Says what is wrong with a header rule.
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

/// How deep an expression nests at most: never less than what its parser will find, as brackets in texts count too.
fn depth(expression: &str) -> usize {
    let mut open = 0_usize;
    let mut signs = 0_usize;
    let mut deepest = 0;
    for byte in expression.bytes() {
        match byte {
            b'(' | b'[' | b'{' => open += 1,
            b')' | b']' | b'}' => open = open.saturating_sub(1),
            // Each of these nests what follows to its right.
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

    #[test]
    fn what_compiles_is_accepted() {
        check("path.startsWith('/api') && headers['x-a'] == 'b' && client_ip != ''").unwrap();
    }

    #[test]
    fn deep_nesting_is_refused_before_it_overflows_a_stack() {
        for open in ["(", "[", "{", "!", "-", "a ? ", "a[", "size(", "!(", "{1:"] {
            assert!(check(&open.repeat(1_000)).unwrap_err().contains("nested"), "{open}");
        }
    }

    #[test]
    fn the_deepest_permitted_nesting_is_read() {
        for (open, close) in [("(", ")"), ("[", "]"), ("!", ""), ("-", ""), ("size(", ")")] {
            let text = format!("{}path{}", open.repeat(32), close.repeat(32));
            assert!(!check(&text).is_err_and(|cause| cause.contains("nested")), "{open}");
        }
    }

    #[test]
    fn long_flat_expressions_are_refused_or_accepted_but_never_overflow() {
        for (start, part) in
            [("true", " && true"), ("1 == 1", " || 1 == 1"), ("path", ".a"), ("1", "+1"), ("path", " < path")]
        {
            for count in [10, 100, 4096 / part.len() - 2] {
                let _ = check(&format!("{start}{}", part.repeat(count)));
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
            assert!(check(text).is_err(), "{text:?}");
        }
    }
}
