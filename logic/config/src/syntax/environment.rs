//! Replaces environment variables in texts: `${NAME}`, `${NAME:-default}`, and `$${` for a literal `${`.

use std::ops::Range;

/// A text with the values of its variables.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Filled {
    pub(crate) text: String,
    /// True if the whole text was one variable.
    pub(crate) whole: bool,
}

/// An invalid variable, with the bytes of the text that contain it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum BadVariable {
    Unset { name: String, at: Range<usize> },
    Name { name: String, at: Range<usize> },
    Unclosed { at: Range<usize> },
}

/// Replaces the variables of `text`.
///
/// # Errors
/// If variables are invalid or unset. Returns all of them.
pub(crate) fn fill(text: &str, env: &dyn Fn(&str) -> Option<String>) -> Result<Filled, Vec<BadVariable>> {
    let mut filled = String::with_capacity(text.len());
    let mut bad = Vec::new();
    let mut whole = false;
    let mut at = 0;
    while let Some(found) = text[at..].find("${") {
        let start = at + found;
        if text[at..start].ends_with('$') {
            filled.push_str(&text[at..start - 1]);
            filled.push_str("${");
            at = start + 2;
            continue;
        }
        filled.push_str(&text[at..start]);
        let Some(length) = text[start..].find('}') else {
            bad.push(BadVariable::Unclosed { at: start..text.len() });
            return Err(bad);
        };
        let end = start + length + 1;
        match value(&text[start + 2..end - 1], start..end, env) {
            Ok(value) => filled.push_str(&value),
            Err(variable) => bad.push(variable),
        }
        whole = start == 0 && end == text.len();
        at = end;
    }
    filled.push_str(&text[at..]);
    if bad.is_empty() { Ok(Filled { text: filled, whole }) } else { Err(bad) }
}

fn value(inner: &str, at: Range<usize>, env: &dyn Fn(&str) -> Option<String>) -> Result<String, BadVariable> {
    let (name, default) = match inner.split_once(":-") {
        Some((name, default)) => (name, Some(default)),
        None => (inner, None),
    };
    let is_name = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
        && name.bytes().next().is_some_and(|first| !first.is_ascii_digit());
    if !is_name {
        return Err(BadVariable::Name { name: name.to_owned(), at });
    }
    // As in a shell, `:-` also replaces an empty value.
    match (env(name), default) {
        (Some(value), None) => Ok(value),
        (Some(value), Some(_)) if !value.is_empty() => Ok(value),
        (_, Some(default)) => Ok(default.to_owned()),
        (None, None) => Err(BadVariable::Unset { name: name.to_owned(), at }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filled(text: &str) -> Result<Filled, Vec<BadVariable>> {
        fill(text, &|name| match name {
            "HOST" => Some("web".to_owned()),
            "EMPTY" => Some(String::new()),
            "TRICK" => Some("${HOST}".to_owned()),
            _ => None,
        })
    }

    fn text(text: &str) -> String {
        filled(text).unwrap().text
    }

    #[test]
    fn variables_are_filled_in_wherever_they_stand() {
        assert_eq!(text("a ${HOST}-${HOST}:80"), "a web-web:80");
        assert_eq!(text("${NONE:-1.2.3.4}:80"), "1.2.3.4:80");
        assert_eq!(text("${EMPTY:-x}${EMPTY}"), "x");
        assert_eq!(text("${NONE:-}"), "");
    }

    #[test]
    fn a_doubled_dollar_and_a_lone_one_stay_literal() {
        assert_eq!(text("$${HOST} $HOST 5$ $"), "${HOST} $HOST 5$ $");
        assert_eq!(text("$$${HOST}"), "$${HOST}");
    }

    #[test]
    fn what_a_variable_holds_is_not_filled_in_again() {
        assert_eq!(text("${TRICK}"), "${HOST}");
    }

    #[test]
    fn only_a_text_of_one_variable_is_whole() {
        assert!(filled("${HOST}").unwrap().whole);
        assert!(filled("${NONE:-5}").unwrap().whole);
        assert!(!filled("${HOST}${HOST}").unwrap().whole);
        assert!(!filled("x${HOST}").unwrap().whole);
        assert!(!filled("$${HOST}").unwrap().whole);
        assert!(!filled("5").unwrap().whole);
    }

    #[test]
    fn every_bad_variable_is_named_with_its_place() {
        let bad = filled("${A} ${B}").unwrap_err();
        let unset = |name: &str, at| BadVariable::Unset { name: name.to_owned(), at };
        assert_eq!(bad, [unset("A", 0..4), unset("B", 5..9)]);
        assert_eq!(filled("${A b}"), Err(vec![BadVariable::Name { name: "A b".to_owned(), at: 0..6 }]));
        assert_eq!(filled("${}"), Err(vec![BadVariable::Name { name: String::new(), at: 0..3 }]));
        assert_eq!(filled("a${HOST"), Err(vec![BadVariable::Unclosed { at: 1..7 }]));
    }
}
