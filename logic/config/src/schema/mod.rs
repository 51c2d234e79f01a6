//! The language in which every key of a file is described: name, type, range, default, meaning. The parser,
//! the JSON Schema and the reference page all work from these descriptions, so that they agree.

mod describe;
pub(crate) mod json;
pub(crate) mod page;

/// What may stand in one table of the file.
#[derive(Debug)]
pub(crate) struct Section {
    /// What error messages call one of these before its name; empty where the name of the key says it.
    pub(crate) noun: &'static str,
    /// How the reference page heads it.
    pub(crate) title: &'static str,
    /// What it is for.
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
    /// A TOML value.
    pub(crate) example: &'static str,
}

/// What holds where a key is not there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Presence {
    /// It must be.
    Required,
    /// This TOML value; the parser reads it from here.
    Default(&'static str),
    /// These words say what happens then.
    Otherwise(&'static str),
}

/// What a value may be.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Kind {
    /// `true` or `false`.
    Flag,
    /// `true` only: the long form of the same key is a table.
    On,
    /// `false` only: the operator wants none.
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
    /// A size each second such as `"1KiB/s"`.
    ByteRate,
    /// A share such as `"20%"`.
    Percent { min: u16, max: u16 },
    /// A text; these words say of what.
    Text(&'static str),
    /// One of these texts.
    Choice(&'static [&'static str]),
    /// One, or a list of them.
    OneOrMany(&'static Kind),
    /// Any of these.
    AnyOf(&'static [Kind]),
    /// A table.
    Table(&'static Section),
    /// A table for each name: `[pool.NAME]`.
    Named(&'static str, &'static Section),
    /// One table or several: `[[route]]`.
    Tables(&'static Section),
    /// Keys that the operator chooses (these words say which), each with such a value.
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

/// Any time that one would wait for something on purpose. Ten thousand days would do no harm, but are a mistyped unit.
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
