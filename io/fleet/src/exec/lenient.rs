//! Lenient reading of JSON fields. A field in another form is converted if its meaning is clear, and omitted
//! otherwise. Each such field adds a remark. One bad field of one machine thus does not invalidate the whole
//! list.

use std::fmt;

use serde_json::{Map, Value};

use crate::time;

/// A field that violates the contract.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Remark {
    field: &'static str,
    /// Path of the field, expected form, and interpretation.
    pub(super) text: String,
}

/// Result of reading a value.
pub(super) enum Read<T> {
    /// The value follows the contract.
    Exact(T),
    /// The value has another form with a clear meaning.
    Loose(T),
}

/// Fields of one object.
pub(super) struct Fields<'v> {
    /// Path of the object, with a dot at the end; empty for the whole response.
    place: String,
    fields: &'v Map<String, Value>,
    remarks: &'v mut Vec<Remark>,
}

/// Maximum length of a value in a remark, in characters.
const SHOWN_CHARS: usize = 60;
/// Lower limit of milliseconds; as seconds, such a number would be after the year 5000.
const MILLISECONDS_FROM: f64 = 1e11;

impl<'v> Fields<'v> {
    /// Returns the fields of the object at `place`.
    ///
    /// # Errors
    /// If the value is not an object. Names the path.
    pub(super) fn of(place: &str, value: &'v Value, remarks: &'v mut Vec<Remark>) -> Result<Self, String> {
        let fields = value.as_object().ok_or_else(|| format!("{place}: {} is no object", Shown(value)))?;
        Ok(Self { place: format!("{place}."), fields, remarks })
    }

    /// Returns the fields of the whole response.
    pub(super) fn of_whole(fields: &'v Map<String, Value>, remarks: &'v mut Vec<Remark>) -> Self {
        Self { place: String::new(), fields, remarks }
    }

    /// Reads an optional field; `None` = absent, empty or unusable.
    pub(super) fn get<T: fmt::Display>(
        &mut self,
        field: &'static str,
        expected: &str,
        read: impl Fn(&Value) -> Option<Read<T>>,
    ) -> Option<T> {
        let value = self.value(field)?;
        let (found, made_of_it) = match read(value) {
            Some(Read::Exact(found)) => return Some(found),
            Some(Read::Loose(found)) => {
                let read_as = format!("read as {found}");
                (Some(found), read_as)
            }
            None => (None, "left out".to_owned()),
        };
        let text = format!("{}{field}: {} is not {expected}; {made_of_it}", self.place, Shown(value));
        self.remarks.push(Remark { field, text });
        found
    }

    /// Reads a required field.
    ///
    /// # Errors
    /// If the field is absent or unusable. Names the path.
    pub(super) fn need<T: fmt::Display>(
        &mut self,
        field: &'static str,
        expected: &str,
        read: impl Fn(&Value) -> Option<Read<T>>,
    ) -> Result<T, String> {
        let found = self.get(field, expected, read);
        found.ok_or_else(|| match self.value(field) {
            Some(value) => format!("{}{field}: {} is not {expected}", self.place, Shown(value)),
            None => format!("{}{field} is missing: {expected} is needed", self.place),
        })
    }

    /// Returns the value of a field unless it is null or empty.
    pub(super) fn value(&self, field: &str) -> Option<&'v Value> {
        self.fields.get(field).filter(|value| !value.is_null() && value.as_str() != Some(""))
    }
}

/// Keeps the first remark about each field.
pub(super) fn one_of_each(remarks: Vec<Remark>) -> Vec<String> {
    let mut kept: Vec<Remark> = Vec::new();
    for remark in remarks {
        if !kept.iter().any(|other| other.field == remark.field) {
            kept.push(remark);
        }
    }
    kept.into_iter().map(|remark| remark.text).collect()
}

/// Reads a string, or a number as one.
pub(super) fn text(value: &Value) -> Option<Read<String>> {
    match value {
        Value::String(text) => Some(Read::Exact(text.clone())),
        Value::Number(number) => Some(Read::Loose(number.to_string())),
        _ => None,
    }
}

/// Reads a whole number from `least` to `most`. Accepts fractions, which it truncates, and numbers in
/// strings.
pub(super) fn whole(value: &Value, least: u64, most: u64) -> Option<Read<u64>> {
    let fits = |number: &u64| (least..=most).contains(number);
    match value.as_u64() {
        Some(number) => Some(number).filter(fits).map(Read::Exact),
        None => number(value).map(|number| number as u64).filter(fits).map(Read::Loose),
    }
}

/// Reads a number, also in a string.
pub(super) fn fraction(value: &Value) -> Option<Read<f64>> {
    match value {
        Value::Number(_) => number(value).map(Read::Exact),
        _ => number(value).map(Read::Loose),
    }
}

/// Reads a time in seconds since 1970. Accepts milliseconds and ISO 8601 dates.
pub(super) fn moment(value: &Value) -> Option<Read<u64>> {
    if let Some(seconds) = value.as_u64().filter(|seconds| (*seconds as f64) < MILLISECONDS_FROM) {
        return Some(Read::Exact(seconds));
    }
    let seconds = match number(value) {
        Some(ms) if ms >= MILLISECONDS_FROM => (ms / 1e3) as u64,
        Some(seconds) => seconds as u64,
        None => time::parse_with_offset(value.as_str()?)?,
    };
    ((seconds as f64) < MILLISECONDS_FROM).then_some(Read::Loose(seconds))
}

/// Returns a number of at least 0, also from a string.
fn number(value: &Value) -> Option<f64> {
    let number = match value {
        Value::String(text) => text.trim().parse().ok()?,
        other => other.as_f64()?,
    };
    Some(number).filter(|number| number.is_finite() && *number >= 0.0)
}

/// A value shown as JSON; a long one is truncated.
struct Shown<'v>(&'v Value);

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = self.0.to_string();
        match text.char_indices().nth(SHOWN_CHARS) {
            Some((end, _)) => write!(f, "{}...", &text[..end]),
            None => f.write_str(&text),
        }
    }
}
