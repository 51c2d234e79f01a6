//! The config as a tree of values with positions, with variables replaced and files merged.

use std::fmt;

use super::source::{Located, Span};

/// A value with its position.
#[derive(Debug, Clone)]
pub(crate) struct Node {
    pub(crate) span: Span,
    pub(crate) value: Value,
}

#[derive(Debug, Clone)]
pub(crate) enum Value {
    Flag(bool),
    /// A whole number; `None` = outside of the range of `i64`.
    Integer(Option<i64>),
    /// A float, as written in the file.
    Float(String),
    Datetime,
    Text(Text),
    List(Vec<Node>),
    Table(Entries),
    /// A value that could not be read, which has been reported.
    Unknown,
}

#[derive(Debug, Clone)]
pub(crate) struct Text {
    pub(crate) text: String,
    /// True if the whole text came from one environment variable, so that it may represent a number or a
    /// flag.
    pub(crate) substituted: bool,
}

/// A table's keys in the order of the file.
pub(crate) type Entries = Vec<(Located<String>, Node)>;

impl Node {
    pub(crate) fn text(&self) -> Option<&str> {
        match &self.value {
            Value::Text(text) => Some(&text.text),
            _ => None,
        }
    }

    pub(crate) fn flag(&self) -> Option<bool> {
        match &self.value {
            Value::Flag(flag) => Some(*flag),
            Value::Text(Text { text, substituted: true }) => text.trim().parse().ok(),
            _ => None,
        }
    }

    pub(crate) fn integer(&self) -> Option<i64> {
        match &self.value {
            Value::Integer(number) => *number,
            Value::Text(Text { text, substituted: true }) => text.trim().parse().ok(),
            _ => None,
        }
    }

    pub(crate) fn decimal(&self) -> Option<f64> {
        match &self.value {
            Value::Integer(number) => number.map(|number| number as f64),
            Value::Float(text) => text.parse().ok(),
            Value::Text(Text { text, substituted: true }) => text.trim().parse().ok(),
            _ => None,
        }
    }

    /// Returns the entries of a list, or the node itself.
    pub(crate) fn one_or_many(&self) -> &[Node] {
        match &self.value {
            Value::List(nodes) => nodes,
            _ => std::slice::from_ref(self),
        }
    }

    pub(crate) fn entries(&self) -> &[(Located<String>, Node)] {
        match &self.value {
            Value::Table(entries) => entries,
            _ => &[],
        }
    }

    /// Returns the value as TOML in one line; `None` if it contains an unreadable value.
    pub(crate) fn to_toml(&self) -> Option<String> {
        Some(match &self.value {
            Value::Flag(flag) => flag.to_string(),
            Value::Integer(number) => (*number)?.to_string(),
            Value::Float(text) => text.clone(),
            Value::Text(Text { text, .. }) => toml_text(text),
            Value::List(nodes) => {
                let nodes = nodes.iter().map(Self::to_toml).collect::<Option<Vec<_>>>()?;
                format!("[{}]", nodes.join(", "))
            }
            Value::Table(entries) => {
                let entry = |(key, node): &(Located<String>, Self)| {
                    Some(format!("{} = {}", toml_text(&key.value), node.to_toml()?))
                };
                format!("{{ {} }}", entries.iter().map(entry).collect::<Option<Vec<_>>>()?.join(", "))
            }
            Value::Datetime | Value::Unknown => return None,
        })
    }

    pub(crate) fn get(&self, key: &str) -> Option<&Node> {
        self.entries().iter().find(|(name, _)| name.value == key).map(|(_, node)| node)
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Flag(flag) => write!(f, "{flag}"),
            Self::Integer(Some(number)) => write!(f, "the number {number}"),
            Self::Integer(None) => f.write_str("a very large number"),
            Self::Float(text) => write!(f, "the number {}", short(text)),
            Self::Datetime => f.write_str("a date"),
            Self::Text(text) => write!(f, "the text {:?}", short(&text.text)),
            Self::List(_) => f.write_str("a list"),
            Self::Table(_) => f.write_str("a table"),
            Self::Unknown => f.write_str("something unknown"),
        }
    }
}

/// Returns a basic string (TOML 1.0), including quotes.
fn toml_text(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            c if c.is_control() => out.push_str(&format!("\\u{:04X}", u32::from(c))),
            c => out.push(c),
        }
    }
    out + "\""
}

/// Returns the beginning of a text, which may have any length.
pub(crate) fn short(text: &str) -> String {
    const CHARS_MAX: usize = 80;
    match text.char_indices().nth(CHARS_MAX) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text.to_owned(),
    }
}
