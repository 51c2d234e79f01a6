//! Reads typed values from a table whose shape has been checked. The check has reported values of the wrong
//! kind, so that they silently become defaults here.

use std::fmt::Display;
use std::str::FromStr;

use weir_model::{ByteSize, Millis};

use super::scalar;
use super::subject::Subject;
use crate::schema::{Kind, Presence, Section};
use crate::syntax::context::Context;
use crate::syntax::diagnostic::Problem;
use crate::syntax::source::{Located, Span};
use crate::syntax::tree::{Node, Value};

/// A table of the file, or an absent table with only defaults.
pub(crate) struct Table<'t, 'a> {
    pub(crate) cx: &'t Context<'a>,
    pub(crate) subject: Subject,
    section: &'static Section,
    node: Option<&'t Node>,
    at: Span,
}

impl<'t, 'a> Table<'t, 'a> {
    pub(crate) fn new(
        cx: &'t Context<'a>,
        subject: Subject,
        section: &'static Section,
        node: &'t Node,
    ) -> Self {
        Self { cx, subject, section, node: Some(node), at: node.span }
    }

    /// Returns the position of the table, or of its parent if the table is absent.
    pub(crate) fn span(&self) -> Span {
        self.at
    }

    /// Returns the value of a key, valid or not.
    pub(crate) fn get(&self, key: &str) -> Option<&'t Node> {
        debug_assert!(self.section.key(key).is_some(), "{} has no key {key}", self.section.title);
        #[cfg(test)]
        crate::tests::keys_read::note(self.section, key);
        self.node?.get(key)
    }

    /// Returns true if the table has unknown keys, which have been reported.
    pub(crate) fn has_unknown_keys(&self) -> bool {
        let mut entries = self.node.map_or(&[][..], Node::entries).iter();
        entries.any(|(name, _)| self.section.key(&name.value).is_none())
    }

    /// Returns the entries of a value that may be a single value or a list.
    pub(crate) fn many(&self, key: &str) -> &'t [Node] {
        self.get(key).map_or(&[], Node::one_or_many)
    }

    /// Returns the table of a key; an empty one if the key is absent or its value is not a table.
    pub(crate) fn table(&self, key: &str) -> Table<'t, 'a> {
        let node = self.get(key).filter(|node| matches!(node.value, Value::Table(_)));
        let section = self.section.key(key).and_then(|key| table_of(key.kind)).unwrap_or(self.section);
        Table {
            cx: self.cx,
            subject: self.subject.key(key),
            section,
            node,
            at: node.map_or(self.at, |node| node.span),
        }
    }

    /// Returns one of several tables of a key.
    pub(crate) fn nth(&self, key: &str, index: usize) -> Table<'t, 'a> {
        let node = self.many(key).get(index).filter(|node| matches!(node.value, Value::Table(_)));
        let at = node.map_or(self.at, |node| node.span);
        Table { node, at, ..self.table(key) }
    }

    /// Returns the table of a key, if the key is present.
    pub(crate) fn table_if(&self, key: &str) -> Option<Table<'t, 'a>> {
        self.get(key).map(|_| self.table(key))
    }

    /// Returns true if the value, or the default of an absent key, is `false`.
    pub(crate) fn is_off(&self, key: &str) -> bool {
        match self.get(key) {
            Some(node) => node.flag() == Some(false),
            None => self.default(key) == "false",
        }
    }

    pub(crate) fn flag(&self, key: &str) -> bool {
        self.get(key).and_then(Node::flag).unwrap_or_else(|| self.default(key) == "true")
    }

    pub(crate) fn duration(&self, key: &str) -> Millis {
        let (min, max) = self.kind(key, |kind| match kind {
            Kind::Duration { min_ms, max_ms } => Some((min_ms, max_ms)),
            _ => None,
        });
        self.text_as(key, |text| scalar::duration(text, min, max).ok()).unwrap_or_default()
    }

    pub(crate) fn duration_if(&self, key: &str) -> Option<Millis> {
        self.get(key).map(|_| self.duration(key))
    }

    pub(crate) fn size(&self, key: &str) -> ByteSize {
        let (min, max) = self.kind(key, |kind| match kind {
            Kind::Size { min, max } => Some((min, max)),
            _ => None,
        });
        self.text_as(key, |text| scalar::size(text, min, max).ok()).unwrap_or_default()
    }

    pub(crate) fn size_if(&self, key: &str) -> Option<ByteSize> {
        self.get(key).map(|_| self.size(key))
    }

    pub(crate) fn byte_rate(&self, key: &str) -> u64 {
        self.text_as(key, |text| scalar::byte_rate(text).ok()).unwrap_or_default()
    }

    /// Returns a percentage of at most 100.
    pub(crate) fn percent(&self, key: &str) -> u8 {
        u8::try_from(self.share(key)).unwrap_or_default()
    }

    pub(crate) fn share(&self, key: &str) -> u16 {
        let (min, max) = self.kind(key, |kind| match kind {
            Kind::Percent { min, max } => Some((min, max)),
            _ => None,
        });
        self.text_as(key, |text| scalar::percent(text, min, max).ok()).unwrap_or_default()
    }

    pub(crate) fn number<T: TryFrom<i64> + Default>(&self, key: &str) -> T {
        let default = || self.default(key).parse::<i64>().ok();
        let number = self.get(key).and_then(Node::integer).or_else(default);
        number.and_then(|number| T::try_from(number).ok()).unwrap_or_default()
    }

    pub(crate) fn number_if<T: TryFrom<i64>>(&self, key: &str) -> Option<T> {
        self.get(key).and_then(Node::integer).and_then(|number| T::try_from(number).ok())
    }

    pub(crate) fn decimal(&self, key: &str) -> f64 {
        self.decimal_if(key).or_else(|| self.default(key).parse().ok()).unwrap_or_default()
    }

    pub(crate) fn decimal_if(&self, key: &str) -> Option<f64> {
        self.get(key).and_then(Node::decimal)
    }

    /// Returns the text of a key, or its default; empty if it has no default.
    pub(crate) fn text(&self, key: &str) -> String {
        self.text_if(key).map_or_else(|| self.default(key).to_owned(), |text| text.value)
    }

    /// Returns the value of a key, if it is a text.
    pub(crate) fn text_if(&self, key: &str) -> Option<Located<String>> {
        self.get(key).and_then(located_text)
    }

    /// Parses a text with a syntax of its own. Reports an invalid text.
    pub(crate) fn parse<T: FromStr<Err: Display>>(&self, key: &str) -> Option<Located<T>> {
        let node = self.get(key)?;
        self.parse_node(key, node)
    }

    /// Parses one of several values; see [`Self::parse`].
    pub(crate) fn parse_node<T: FromStr<Err: Display>>(&self, key: &str, node: &Node) -> Option<Located<T>> {
        match node.text()?.parse() {
            Ok(value) => Some(Located { value, span: node.span }),
            Err(cause) => {
                self.error(key, node.span, format!("{cause}"));
                None
            }
        }
    }

    /// Reports an error in a key's value.
    pub(crate) fn error(&self, key: &str, span: Span, message: impl Display) {
        self.report(key, span, message, None);
    }

    pub(crate) fn report(&self, key: &str, span: Span, message: impl Display, help: Option<String>) {
        let mut problem = Problem::error(span, format!("{}: {message}", self.subject.key(key)));
        problem.help = help;
        self.cx.report(problem);
    }

    /// Reports a probable mistake, with a hint.
    pub(crate) fn warning(&self, key: &str, span: Span, message: impl Display, help: String) {
        self.cx.report(Problem::warning(span, format!("{}: {message}", self.subject.key(key))).help(help));
    }

    fn text_as<T>(&self, key: &str, read: impl Fn(&str) -> Option<T>) -> Option<T> {
        self.get(key).and_then(Node::text).and_then(&read).or_else(|| read(self.default(key)))
    }

    /// Returns the default as in the definition, without the quotes of a text.
    pub(crate) fn default(&self, key: &str) -> &'static str {
        match self.section.key(key).map(|key| key.presence) {
            Some(Presence::Default(text)) => text.trim_matches('"'),
            _ => "",
        }
    }

    fn kind<T: Default>(&self, key: &str, pick: fn(Kind) -> Option<T>) -> T {
        fn find<T>(kind: Kind, pick: fn(Kind) -> Option<T>) -> Option<T> {
            match kind {
                Kind::OneOrMany(kind) => find(*kind, pick),
                Kind::AnyOf(kinds) => kinds.iter().find_map(|kind| find(*kind, pick)),
                kind => pick(kind),
            }
        }
        self.section.key(key).and_then(|key| find(key.kind, pick)).unwrap_or_default()
    }
}

pub(crate) fn located_text(node: &Node) -> Option<Located<String>> {
    node.text().map(|text| Located { value: text.to_owned(), span: node.span })
}

fn table_of(kind: Kind) -> Option<&'static Section> {
    match kind {
        Kind::Table(section) | Kind::Tables(section) => Some(section),
        Kind::AnyOf(kinds) => kinds.iter().find_map(|kind| table_of(*kind)),
        Kind::OneOrMany(kind) => table_of(*kind),
        _ => None,
    }
}
