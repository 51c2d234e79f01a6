//! Parses TOML text into a [`Node`], replaces environment variables and reports syntax errors.

use std::collections::BTreeSet;
use std::ops::Range;

use toml::Spanned;
use toml::de::{DeInteger, DeTable, DeValue, Error};

use super::context::Context;
use super::diagnostic::Problem;
use super::environment::{BadVariable, fill};
use super::foreign;
use super::source::{Located, Source, Span};
use super::tree::{Entries, Node, Text, Value};

/// Reads one source. Returns `None` if its structure is broken, so that its content cannot be checked.
pub(crate) fn read(cx: &Context<'_>, file: usize, source: &Source) -> Option<Entries> {
    let (root, errors) = DeTable::parse_recoverable(&source.text);
    let mut readable = true;
    // An unclosed bracket or quote invalidates everything after it. Otherwise, one error per line is enough.
    let cascades = errors.iter().any(|error| error.message().starts_with("unclosed"));
    let mut lines = BTreeSet::new();
    let mut sorted: Vec<_> = errors.iter().collect();
    sorted.sort_by_key(|error| error.span().map_or(0, |span| span.start));
    if let Some(other) =
        sorted.iter().find(|error| Effect::of(error) == Effect::Broken).and(foreign::format_of(&source.text))
    {
        let whole = Span::new(file, other.at);
        cx.report(Problem::error(whole, format!("this is {}, not TOML", other.what)).help(other.help));
        cx.set_incomplete();
        return None;
    }
    for error in sorted {
        let effect = Effect::of(error);
        let start = error.span().map_or(0, |span| span.start);
        let line = cx.map.excerpt(Span::new(file, start..start)).map(|excerpt| excerpt.line);
        if (!readable && cascades) || (effect != Effect::PartLost && !lines.insert(line)) {
            continue;
        }
        readable &= effect != Effect::Broken;
        if effect == Effect::PartLost {
            cx.set_incomplete();
        }
        cx.report(syntax_problem(file, source, error, effect));
    }
    if !readable {
        cx.set_incomplete();
        return None;
    }
    Some(Reader { cx, file, source }.entries(root.get_ref()))
}

/// Effect of a syntax error on the rest of the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Effect {
    /// No effect: the value is understood.
    None,
    /// One of two values of a key is lost.
    PartLost,
    /// Everything after the error may be wrong.
    Broken,
}

impl Effect {
    fn of(error: &Error) -> Self {
        if error.message().starts_with("string values must be quoted") {
            Self::None
        } else if error.message().starts_with("duplicate key") {
            Self::PartLost
        } else {
            Self::Broken
        }
    }
}

fn syntax_problem(file: usize, source: &Source, error: &Error, effect: Effect) -> Problem {
    let range = error.span().unwrap_or(0..0);
    let meant = source.text.get(range.clone()).unwrap_or("").to_owned();
    let span = Span::new(file, range);
    match effect {
        Effect::None if meant.contains(TYPOGRAPHIC) => {
            Problem::error(span, format!("TOML: {meant} has typographic quotation marks"))
                .help(format!("write {}", quoted(meant.trim().trim_matches(TYPOGRAPHIC))))
        }
        Effect::None => Problem::error(span, format!("TOML: {meant} needs quotes"))
            .help(format!("write {}", quoted(meant.trim()))),
        Effect::PartLost => {
            Problem::error(span, format!("TOML: {} is there twice", meant.trim_matches('"'))).label("again")
        }
        Effect::Broken => Problem::error(span, format!("TOML: {}", error.message())),
    }
}

/// Typographic quotation marks of word processors and chats.
const TYPOGRAPHIC: [char; 8] = ['“', '”', '„', '«', '»', '‘', '’', '‚'];

fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

struct Reader<'r, 'a> {
    cx: &'r Context<'a>,
    file: usize,
    source: &'r Source,
}

impl Reader<'_, '_> {
    // The parser rejects more than 80 levels of nesting, which bounds this recursion.
    fn entries(&self, table: &DeTable<'_>) -> Entries {
        let entry = |(key, value): (&Spanned<_>, &Spanned<DeValue<'_>>)| {
            let key: &Spanned<std::borrow::Cow<'_, str>> = key;
            let span = Span::new(self.file, key.span());
            (Located { value: key.get_ref().to_string(), span }, self.node(value))
        };
        table.iter().map(entry).collect()
    }

    fn node(&self, value: &Spanned<DeValue<'_>>) -> Node {
        let range = value.span();
        let span = Span::new(self.file, range.clone());
        let value = match value.get_ref() {
            DeValue::Boolean(flag) => Value::Flag(*flag),
            DeValue::Integer(number) => Value::Integer(integer(number)),
            DeValue::Float(number) => Value::Float(number.as_str().to_owned()),
            DeValue::Datetime(_) => Value::Datetime,
            DeValue::String(text) => self.text(text, range),
            DeValue::Array(values) => Value::List(values.iter().map(|value| self.node(value)).collect()),
            DeValue::Table(table) => Value::Table(self.entries(table)),
        };
        Node { span, value }
    }

    fn text(&self, text: &str, range: Range<usize>) -> Value {
        match fill(text, self.cx.outside.env) {
            Ok(filled) => Value::Text(Text { text: filled.text, substituted: filled.whole }),
            Err(bad) => {
                for variable in bad {
                    self.cx.report(self.variable_problem(text, &range, variable));
                }
                Value::Unknown
            }
        }
    }

    fn variable_problem(&self, text: &str, range: &Range<usize>, variable: BadVariable) -> Problem {
        let place = |at: &Range<usize>| {
            // With escapes, the text can differ from its source; then the whole value is marked.
            let written = self.source.text.get(range.clone()).unwrap_or("");
            let found =
                text.get(at.clone()).and_then(|part| written.find(part).map(|start| (start, part.len())));
            match found {
                Some((start, length)) => {
                    Span::new(self.file, range.start + start..range.start + start + length)
                }
                None => Span::new(self.file, range.clone()),
            }
        };
        match variable {
            BadVariable::Unset { name, at } => {
                Problem::error(place(&at), format!("the environment variable {name} is not set"))
                    .help(format!("set it, or write ${{{name}:-default}}; $${{ stands for a literal ${{"))
            }
            BadVariable::Name { name, at } => {
                Problem::error(place(&at), format!("{name:?} is not the name of an environment variable"))
                    .help("names have letters, digits and _; $${ stands for a literal ${")
            }
            BadVariable::Unclosed { at } => {
                Problem::error(place(&at), "the closing } is missing").help("$${ stands for a literal ${")
            }
        }
    }
}

fn integer(number: &DeInteger<'_>) -> Option<i64> {
    i64::from_str_radix(number.as_str(), number.radix()).ok()
}
