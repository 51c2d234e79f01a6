//! Durations, byte sizes and rates with their units.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// A duration in whole milliseconds, written as `250ms`, `2s`, `5m`, `1h` or `7d`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Millis(pub u64);

/// A number of bytes, written as `512B`, `64KiB`, `10MiB`, `2GiB` or `1TiB`, or with the decimal units `kB`,
/// `MB`, `GB` and `TB`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct ByteSize(pub u64);

/// A rate of events, written as `500/s`, `30/m` or `2/h`. It is stored as events per hour, so that all three
/// are whole numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Rate {
    per_hour: u64,
}

/// Reason why a text is not a valid quantity. Its `Display` gives an example of a valid one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BadQuantity {
    /// The text does not begin with a number, or the number is too large.
    Number(Kind),
    /// The number has no unit.
    NoUnit(Kind),
    /// The unit does not belong to this kind of quantity.
    Unit(Kind, String),
}

/// The kind of quantity that was expected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A duration ([`Millis`]).
    Duration,
    /// A number of bytes ([`ByteSize`]).
    Size,
    /// A rate ([`Rate`]).
    Rate,
}

const DURATION_UNITS: &[(&str, u64)] =
    &[("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1_000), ("ms", 1)];
const SIZE_UNITS: &[(&str, u64)] = &[
    ("TiB", 1 << 40),
    ("GiB", 1 << 30),
    ("MiB", 1 << 20),
    ("KiB", 1 << 10),
    ("TB", 1_000_000_000_000),
    ("GB", 1_000_000_000),
    ("MB", 1_000_000),
    ("kB", 1_000),
    ("B", 1),
];
const RATE_UNITS: &[(&str, u64)] = &[("/s", 3_600), ("/m", 60), ("/h", 1)];

impl Millis {
    /// Converts to the standard library's type.
    pub const fn duration(self) -> Duration {
        Duration::from_millis(self.0)
    }

    /// Creates a duration of whole seconds.
    pub const fn from_secs(seconds: u64) -> Self {
        Self(seconds * 1_000)
    }
}

impl ByteSize {
    /// Creates a size of whole KiB.
    pub const fn kib(kib: u64) -> Self {
        Self(kib << 10)
    }
}

impl Rate {
    /// Creates a rate of whole events per second.
    pub const fn per_second(events: u64) -> Self {
        Self { per_hour: events * 3_600 }
    }

    /// Returns the rate in events per second.
    pub fn events_per_second(self) -> f64 {
        self.per_hour as f64 / 3_600.0
    }
}

/// Parses a whole number followed by one of `units`, and multiplies them. The number 0 needs no unit.
fn parse(text: &str, kind: Kind, units: &[(&str, u64)]) -> Result<u64, BadQuantity> {
    let text = text.trim();
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let number: u64 = text[..digits].parse().map_err(|_| BadQuantity::Number(kind))?;
    let unit = text[digits..].trim();
    if unit.is_empty() {
        return if number == 0 { Ok(0) } else { Err(BadQuantity::NoUnit(kind)) };
    }
    let (_, factor) = units
        .iter()
        .find(|(name, _)| *name == unit)
        .ok_or_else(|| BadQuantity::Unit(kind, unit.to_owned()))?;
    number.checked_mul(*factor).ok_or(BadQuantity::Number(kind))
}

/// Writes the value with the largest unit that leaves a whole number.
fn print(value: u64, units: &[(&str, u64)], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let exact =
        units.iter().filter(|(_, factor)| value.is_multiple_of(*factor)).max_by_key(|(_, factor)| *factor);
    match exact {
        Some((unit, factor)) if value > 0 => write!(f, "{}{unit}", value / factor),
        _ => match units.iter().min_by_key(|(_, factor)| *factor) {
            Some((unit, _)) => write!(f, "{value}{unit}"),
            None => write!(f, "{value}"),
        },
    }
}

macro_rules! text_form {
    ($type:ident, $kind:ident, $units:ident, $of:expr, $make:expr) => {
        impl FromStr for $type {
            type Err = BadQuantity;
            fn from_str(text: &str) -> Result<Self, BadQuantity> {
                parse(text, Kind::$kind, $units).map($make)
            }
        }
        impl TryFrom<String> for $type {
            type Error = BadQuantity;
            fn try_from(text: String) -> Result<Self, BadQuantity> {
                text.parse()
            }
        }
        impl From<$type> for String {
            fn from(value: $type) -> Self {
                value.to_string()
            }
        }
        impl fmt::Display for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                print($of(self), $units, f)
            }
        }
    };
}

text_form!(Millis, Duration, DURATION_UNITS, |v: &Millis| v.0, Millis);
text_form!(ByteSize, Size, SIZE_UNITS, |v: &ByteSize| v.0, ByteSize);
text_form!(Rate, Rate, RATE_UNITS, |v: &Rate| v.per_hour, |per_hour| Rate { per_hour });

impl Kind {
    fn example(self) -> &'static str {
        match self {
            Self::Duration => "a duration such as \"250ms\", \"2s\", \"5m\", \"1h\", \"7d\"",
            Self::Size => "a size such as \"512B\", \"64KiB\", \"10MiB\", \"2GiB\"",
            Self::Rate => "a rate such as \"500/s\", \"30/m\", \"2/h\"",
        }
    }
}

impl fmt::Display for BadQuantity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(kind) => write!(f, "expected {}", kind.example()),
            Self::NoUnit(kind) => write!(f, "the unit is missing: expected {}", kind.example()),
            Self::Unit(kind, unit) => write!(f, "unknown unit {unit:?}: expected {}", kind.example()),
        }
    }
}

impl std::error::Error for BadQuantity {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantities_print_as_they_are_written() {
        for text in ["250ms", "2s", "5m", "1h", "7d", "1500ms", "0ms"] {
            assert_eq!(text.parse::<Millis>().unwrap().to_string(), text);
        }
        for text in ["512B", "64KiB", "10MiB", "2GiB", "1TiB", "1MB", "0B"] {
            assert_eq!(text.parse::<ByteSize>().unwrap().to_string(), text);
        }
        for text in ["500/s", "30/m", "2/h"] {
            assert_eq!(text.parse::<Rate>().unwrap().to_string(), text);
        }
    }

    #[test]
    fn a_missing_or_foreign_unit_is_named() {
        assert_eq!("5".parse::<Millis>(), Err(BadQuantity::NoUnit(Kind::Duration)));
        assert_eq!("5KiB".parse::<Millis>(), Err(BadQuantity::Unit(Kind::Duration, "KiB".into())));
        assert_eq!("fast".parse::<Rate>(), Err(BadQuantity::Number(Kind::Rate)));
        assert_eq!("99999999999999999999s".parse::<Millis>(), Err(BadQuantity::Number(Kind::Duration)));
        assert_eq!("18446744073709551615d".parse::<Millis>(), Err(BadQuantity::Number(Kind::Duration)));
    }
}
