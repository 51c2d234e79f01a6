//! Checks the whole tree against the tables of keys: unknown and missing keys, wrong types, units, ranges and
//! choices.
//!
//! Code that reads the tree later does not need to report these errors again.

use super::subject::Subject;
use super::suggest::Meant;
use super::{scalar, suggest};
use crate::schema::{Key, Kind, Presence, Section};
use crate::syntax::context::Context;
use crate::syntax::diagnostic::Problem;
use crate::syntax::source::Located;
use crate::syntax::tree::{Node, Text, Value, short};

/// Reports every part of `node` that does not fit `section`.
pub(crate) fn check_table(cx: &Context<'_>, subject: &Subject, section: &'static Section, node: &Node) {
    let mut meant = Vec::new();
    for (name, value) in node.entries() {
        match section.key(&name.value) {
            Some(key) => check_key(cx, &subject.key(&name.value), key, value),
            None => meant.extend(unknown_key(cx, subject, section, name)),
        }
    }
    if cx.is_incomplete() {
        return;
    }
    // `[listener]` by itself defines no listener.
    let is_empty =
        |key: &Key, value: &Node| matches!(key.kind, Kind::Named(..)) && value.entries().is_empty();
    let missing = |key: &&Key| {
        key.presence == Presence::Required
            && node.get(key.name).is_none_or(|value| is_empty(key, value))
            && !meant.contains(&key.name)
    };
    for key in section.keys.iter().filter(missing) {
        let subject = subject.to_string();
        let message = match subject.as_str() {
            "" => format!("the config has no {}", key.name),
            subject => format!("{subject}: {} is missing", key.name),
        };
        let help = format!("for example: {} = {}", key.name, key.example);
        cx.report(Problem::error(node.span, message).help(help));
    }
}

/// Checks a value as [`check`] does. For a value of another type without a more specific hint, suggests the
/// key's example.
fn check_key(cx: &Context<'_>, subject: &Subject, key: &Key, node: &Node) {
    if matches!(node.value, Value::Unknown) || fits(key.kind, &node.value) {
        return check(cx, subject, key.kind, node);
    }
    let mut problem = wrong_type(subject, key.kind, node);
    problem.help = problem.help.or_else(|| Some(format!("for example: {} = {}", key.name, key.example)));
    cx.report(problem);
}

/// Reports every part of `node` that is not a value of `kind`.
pub(crate) fn check(cx: &Context<'_>, subject: &Subject, kind: Kind, node: &Node) {
    if matches!(node.value, Value::Unknown) {
        return;
    }
    if !fits(kind, &node.value) {
        cx.report(wrong_type(subject, kind, node));
        return;
    }
    match kind {
        Kind::Table(section) => check_table(cx, subject, section, node),
        Kind::Named(_, section) => {
            for (name, value) in node.entries() {
                check(cx, &Subject::default().named(section.noun, &name.value), Kind::Table(section), value);
            }
        }
        Kind::Tables(section) => {
            for (index, value) in node.one_or_many().iter().enumerate() {
                check(cx, &subject.entry(section, index, value), Kind::Table(section), value);
            }
        }
        Kind::Map(_, kind) => {
            for (name, value) in node.entries() {
                check(cx, &subject.key(&name.value), *kind, value);
            }
        }
        Kind::OneOrMany(kind) => {
            for (index, value) in node.one_or_many().iter().enumerate() {
                check_entry(cx, subject, *kind, index, value);
            }
        }
        Kind::AnyOf(kinds) => match kinds.iter().find(|kind| fits(**kind, &node.value)) {
            // A number in quotes has the type of a choice, but is none of the choices; a number was probably
            // meant.
            Some(Kind::Choice(_)) if is_quoted_number(kinds, node) => {
                cx.report(wrong_type(subject, kind, node));
            }
            Some(kind) => check(cx, subject, *kind, node),
            None => cx.report(wrong_type(subject, kind, node)),
        },
        _ => {
            if let Err(message) = check_scalar(kind, node) {
                let mut problem = Problem::error(node.span, format!("{subject}: {message}"));
                problem.help = suggest::for_value(kind, &node.value);
                cx.report(problem);
            }
        }
    }
}

fn is_quoted_number(kinds: &[Kind], node: &Node) -> bool {
    let takes_numbers = |kind: &Kind| matches!(kind, Kind::Integer { .. } | Kind::Number { .. });
    kinds.iter().any(takes_numbers) && node.text().is_some_and(|text| text.trim().parse::<f64>().is_ok())
}

/// Checks one value of a list. A table in a list has its own name in messages.
fn check_entry(cx: &Context<'_>, subject: &Subject, kind: Kind, index: usize, node: &Node) {
    let section = match kind {
        Kind::Table(section) => Some(section),
        Kind::AnyOf(kinds) => kinds.iter().find_map(|kind| match kind {
            Kind::Table(section) => Some(*section),
            _ => None,
        }),
        _ => None,
    };
    match (section, &node.value) {
        (Some(section), Value::Table(_)) => {
            check(cx, &subject.entry(section, index, node), Kind::Table(section), node);
        }
        _ => check(cx, subject, kind, node),
    }
}

/// Returns true if a value has the type of a kind. Its content may still be wrong.
fn fits(kind: Kind, value: &Value) -> bool {
    match (kind, value) {
        (_, Value::Unknown) => true,
        (Kind::Flag, Value::Flag(_)) | (Kind::On, Value::Flag(true)) | (Kind::Off, Value::Flag(false)) => {
            true
        }
        (Kind::Flag, Value::Text(Text { text, substituted: true })) => text.trim().parse::<bool>().is_ok(),
        (Kind::Off, Value::Text(Text { text, substituted: true })) => text.trim() == "false",
        (Kind::On, Value::Text(Text { text, substituted: true })) => text.trim() == "true",
        (Kind::Integer { .. } | Kind::Signed { .. }, Value::Integer(_))
        | (Kind::Number { .. }, Value::Integer(_) | Value::Float(_)) => true,
        (Kind::Number { .. }, Value::Text(Text { text, substituted: true })) => {
            text.trim().parse::<f64>().is_ok()
        }
        (Kind::Integer { .. } | Kind::Signed { .. }, Value::Text(Text { text, substituted: true })) => {
            text.trim().parse::<i64>().is_ok()
        }
        (
            Kind::Duration { .. }
            | Kind::Size { .. }
            | Kind::ByteRate
            | Kind::Percent { .. }
            | Kind::Text(_)
            | Kind::Choice(_),
            Value::Text(_),
        ) => true,
        (Kind::Table(_) | Kind::Named(..) | Kind::Tables(_) | Kind::Map(..), Value::Table(_)) => true,
        (Kind::Tables(_) | Kind::OneOrMany(_), Value::List(_)) => true,
        (Kind::OneOrMany(kind), value) => fits(*kind, value),
        (Kind::AnyOf(kinds), value) => kinds.iter().any(|kind| fits(*kind, value)),
        _ => false,
    }
}

fn check_scalar(kind: Kind, node: &Node) -> Result<(), String> {
    let text = node.text().unwrap_or("");
    match kind {
        Kind::Integer { min, max } => match node.integer() {
            Some(number) => scalar::integer(number, min, max).map(drop),
            None => Err(format!("{} is out of range: {min} to {max}", node.value)),
        },
        Kind::Signed { min, max } => match node.integer() {
            Some(number) => scalar::signed(number, min, max).map(drop),
            None => Err(format!("{} is out of range: {min} to {max}", node.value)),
        },
        Kind::Number { min, max } => match node.decimal().filter(|number| (min..=max).contains(number)) {
            Some(_) => Ok(()),
            None => Err(format!("{} is out of range: {min} to {max}", node.value)),
        },
        Kind::Duration { min_ms, max_ms } => scalar::duration(text, min_ms, max_ms).map(drop),
        Kind::Size { min, max } => scalar::size(text, min, max).map(drop),
        Kind::ByteRate => scalar::byte_rate(text).map(drop),
        Kind::Percent { min, max } => scalar::percent(text, min, max).map(drop),
        Kind::Choice(names) if !names.contains(&text) => {
            Err(format!("unknown value {:?}: expected {kind}", short(text)))
        }
        _ => Ok(()),
    }
}

fn wrong_type(subject: &Subject, kind: Kind, node: &Node) -> Problem {
    let mut problem = Problem::error(node.span, format!("{subject}: expected {kind}; found {}", node.value));
    problem.help = suggest::for_value(kind, &node.value);
    problem
}

/// Reports an unknown key. Returns the key of the same table that it was probably meant to be.
fn unknown_key(
    cx: &Context<'_>,
    subject: &Subject,
    section: &'static Section,
    name: &Located<String>,
) -> Option<&'static str> {
    let subject = subject.to_string();
    let join = if subject.is_empty() { "" } else { ": " };
    let message = format!("{subject}{join}unknown key {:?}", short(&name.value));
    let problem = Problem::error(name.span, message);
    let meant = suggest::for_key(cx.root, section, &name.value);
    cx.report(match &meant {
        Some(Meant::Key(key)) => problem.help(suggest::did_you_mean(key)),
        Some(Meant::Below(key)) => problem.help(format!("{:?} belongs into {key:?}", name.value)),
        Some(Meant::Above(title)) => {
            problem.help(format!("{:?} is a key of {title}: write it above this table", name.value))
        }
        None => problem,
    });
    match meant {
        Some(Meant::Key(key)) => Some(key),
        _ => None,
    }
}
