//! The types that describe each key of a file: name, type, range, default, meaning. The parser, the JSON
//! Schema and the reference page all use these descriptions, so that they agree.

mod describe;
pub(crate) mod json;
pub(crate) mod page;

/// The keys of one table of the file.
#[derive(Debug)]
pub(crate) struct Section {
    /// Noun before a table's name in error messages; empty if the key's name suffices.
    pub(crate) noun: &'static str,
    /// Heading in the reference page.
    pub(crate) title: &'static str,
    /// Purpose of the section.
    pub(crate) meaning: &'static str,
    pub(crate) keys: &'static [Key],
}

/// One key.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Key {
    pub(crate) name: &'static str,
    pub(crate) kind: Kind,
    pub(crate) presence: Presence,
    pub(crate) meaning: &'static str,
    /// Example, as a TOML value.
    pub(crate) example: &'static str,
}

/// Value or meaning of an absent key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Presence {
    /// The key is required.
    Required,
    /// This TOML value, which the parser reads from here.
    Default(&'static str),
    /// A description of the behavior without the key.
    Otherwise(&'static str),
}

/// Type of a value.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Kind {
    /// `true` or `false`.
    Flag,
    /// Only `true`; the long form of the same key is a table.
    On,
    /// Only `false`, which turns the feature off.
    Off,
    /// A whole number.
    Integer { min: u64, max: u64 },
    /// A number that may have a fraction.
    Number { min: f64, max: f64 },
    /// A whole number that may be negative.
    Signed { min: i64, max: i64 },
    /// A duration such as `"2s"`, in milliseconds here.
    Duration { min_ms: u64, max_ms: u64 },
    /// A size such as `"64KiB"`, in bytes here.
    Size { min: u64, max: u64 },
    /// A size per second, such as `"1KiB/s"`.
    ByteRate,
    /// A percentage, such as `"20%"`.
    Percent { min: u16, max: u16 },
    /// A text, with a description of its content.
    Text(&'static str),
    /// One of these texts.
    Choice(&'static [&'static str]),
    /// One value, or a list of values.
    OneOrMany(&'static Kind),
    /// Any of these kinds.
    AnyOf(&'static [Kind]),
    /// A table.
    Table(&'static Section),
    /// A table for each name: `[pool.NAME]`.
    Named(&'static str, &'static Section),
    /// One table or several: `[[route]]`.
    Tables(&'static Section),
    /// Keys that the operator chooses, with a description of them, and the kind of their values.
    Map(&'static str, &'static Kind),
}

impl Section {
    pub(crate) fn key(&self, name: &str) -> Option<&'static Key> {
        self.keys.iter().find(|key| key.name == name)
    }
}

pub(crate) const SECOND_MS: u64 = 1_000;
pub(crate) const MINUTE_MS: u64 = 60 * SECOND_MS;
pub(crate) const HOUR_MS: u64 = 60 * MINUTE_MS;
pub(crate) const DAY_MS: u64 = 24 * HOUR_MS;

/// A duration of a deliberate wait. The upper limit detects wrong units, such as ten thousand days.
pub(crate) const DURATION: Kind = Kind::Duration { min_ms: 1, max_ms: 30 * DAY_MS };
pub(crate) const DURATION_OR_ZERO: Kind = Kind::Duration { min_ms: 0, max_ms: 30 * DAY_MS };
pub(crate) const COUNT: Kind = Kind::Integer { min: 1, max: u32::MAX as u64 };

pub(crate) const fn key(
    name: &'static str,
    kind: Kind,
    presence: Presence,
    example: &'static str,
    meaning: &'static str,
) -> Key {
    Key { name, kind, presence, meaning, example }
}
