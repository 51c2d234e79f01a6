//! Writes tables and keys as TOML.

use std::fmt::{Display, Write};

use toml::{Table, Value};

/// A writer of tables and keys, in order.
#[derive(Default)]
pub(crate) struct Writer {
    out: String,
}

/// A value that can be printed in the syntax of the file.
pub(crate) trait Spelled {
    fn spelled(&self) -> Value;
}

/// A value that is printed as the text of its `Display`.
pub(crate) struct Printed<T>(pub(crate) T);

/// A percentage of at most 100.
pub(crate) struct Percent(pub(crate) u8);

/// A percentage that may exceed 100.
pub(crate) struct Share(pub(crate) u32);

/// The value of a key that the operator has turned off.
pub(crate) const OFF: bool = false;

impl Writer {
    /// Writes the header of a table, such as `[pool.web]` or `[[route]]`.
    pub(crate) fn table(&mut self, head: &str) {
        let gap = if self.out.is_empty() { "" } else { "\n" };
        // A write to a String cannot fail.
        let _ = writeln!(self.out, "{gap}{head}");
    }

    pub(crate) fn key(&mut self, key: &str, value: impl Spelled) {
        let _ = writeln!(self.out, "{key} = {}", value.spelled());
    }

    /// Writes the key, or nothing for `None`.
    pub(crate) fn key_if(&mut self, key: &str, value: Option<impl Spelled>) {
        if let Some(value) = value {
            self.key(key, value);
        }
    }

    /// Writes the key, with `false` for `None`.
    pub(crate) fn key_or_off(&mut self, key: &str, value: Option<impl Spelled>) {
        match value {
            Some(value) => self.key(key, value),
            None => self.key(key, OFF),
        }
    }

    /// Writes nothing for no values, and a single value without brackets.
    pub(crate) fn many(&mut self, key: &str, values: &[impl Spelled]) {
        match values {
            [] => {}
            [one] => self.key(key, one.spelled()),
            _ => self.key(key, Value::Array(values.iter().map(Spelled::spelled).collect())),
        }
    }

    /// Writes a list with one line for each value.
    pub(crate) fn lines(&mut self, key: &str, values: impl Iterator<Item = Value>) {
        let _ = writeln!(self.out, "{key} = [");
        for value in values {
            let _ = writeln!(self.out, "    {value},");
        }
        let _ = writeln!(self.out, "]");
    }

    pub(crate) fn finish(self) -> String {
        self.out
    }
}

/// Returns an inline table of the entries that are present.
pub(crate) fn table<const N: usize>(entries: [(&str, Option<Value>); N]) -> Value {
    let there = entries.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value?)));
    Value::Table(there.collect::<Table>())
}

/// Returns a part of a dotted key, in quotes unless TOML permits it as a bare key.
pub(crate) fn bare(name: &str) -> String {
    let is_bare = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    if !name.is_empty() && name.chars().all(is_bare) { name.to_owned() } else { format!("{:?}", name) }
}

impl Spelled for Value {
    fn spelled(&self) -> Value {
        self.clone()
    }
}

impl Spelled for str {
    fn spelled(&self) -> Value {
        Value::String(self.replace("${", "$${"))
    }
}

impl Spelled for String {
    fn spelled(&self) -> Value {
        self.as_str().spelled()
    }
}

impl Spelled for bool {
    fn spelled(&self) -> Value {
        Value::Boolean(*self)
    }
}

impl<T: Display> Spelled for Printed<T> {
    fn spelled(&self) -> Value {
        self.0.to_string().spelled()
    }
}

impl Spelled for Percent {
    fn spelled(&self) -> Value {
        Value::String(format!("{}%", self.0))
    }
}

impl Spelled for Share {
    fn spelled(&self) -> Value {
        Value::String(format!("{}%", self.0))
    }
}

impl<T: Spelled + ?Sized> Spelled for &T {
    fn spelled(&self) -> Value {
        (*self).spelled()
    }
}

macro_rules! numbers {
    ($($type:ty),*) => {
        $(impl Spelled for $type {
            fn spelled(&self) -> Value {
                Value::Integer(i64::from(*self))
            }
        })*
    };
}

numbers!(u8, u16, u32, i16, i32);
