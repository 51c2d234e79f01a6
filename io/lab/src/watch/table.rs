//! Rows of figures with columns, as a source returns them.

use std::fmt::Write as _;

/// Meaning of a column's figures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Present amount.
    Gauge,
    /// Total since some start. It only grows, until it restarts at 0.
    Counter,
    /// Counter of 32 bits that wraps to 0.
    Counter32,
    /// Counter that wraps to 0 at a limit, which the source provides per row.
    Wrapping,
    /// Identifying number, which is not an amount.
    Id,
}

impl Kind {
    /// Returns true for a counter, from which rates are computed.
    pub(super) fn is_counter(self) -> bool {
        !matches!(self, Self::Gauge | Self::Id)
    }
}

/// Column of figures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Column {
    /// Name, with the unit at the end, if there is one.
    pub name: &'static str,
    /// Meaning of the figures.
    pub kind: Kind,
    /// Description for people.
    pub help: &'static str,
    /// True if tables for people show the column beside derived figures.
    pub is_shown: bool,
}

impl Column {
    const fn new(name: &'static str, kind: Kind, help: &'static str) -> Self {
        Self { name, kind, help, is_shown: false }
    }

    /// Makes the column visible in tables for people.
    #[must_use]
    pub const fn shown(self) -> Self {
        Self { is_shown: true, ..self }
    }

    /// Creates a column for a present amount.
    pub const fn gauge(name: &'static str, help: &'static str) -> Self {
        Self::new(name, Kind::Gauge, help)
    }

    /// Creates a column for an identifying number.
    pub const fn id(name: &'static str, help: &'static str) -> Self {
        Self::new(name, Kind::Id, help)
    }

    /// Creates a column for a counter.
    pub const fn counter(name: &'static str, help: &'static str) -> Self {
        Self::new(name, Kind::Counter, help)
    }

    /// Creates a column for a counter of 32 bits.
    pub const fn counter32(name: &'static str, help: &'static str) -> Self {
        Self::new(name, Kind::Counter32, help)
    }

    /// Creates a column for a counter with its own limit.
    pub const fn wrapping(name: &'static str, help: &'static str) -> Self {
        Self::new(name, Kind::Wrapping, help)
    }
}

/// Figures of one subject at one moment.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    /// Name of the disk, process, interface or other subject.
    pub subject: String,
    /// Distinguishes the subject from an earlier one with the same name, for example a process from a later
    /// one with the same id.
    pub incarnation: u64,
    /// Values in the order of the columns; `None` = unknown on this system.
    pub values: Vec<Option<f64>>,
    /// Limit at which the wrapping counters restart at 0; 0 = no such counters.
    pub wraps_at: f64,
}

impl Row {
    /// Creates a row of a subject that cannot be replaced by another with the same name.
    pub fn new(subject: impl Into<String>, values: Vec<Option<f64>>) -> Self {
        Self { subject: subject.into(), incarnation: 0, values, wraps_at: 0.0 }
    }
}

/// Comparison of a row with the one before.
#[derive(Debug, Clone, Copy)]
pub struct Change<'a> {
    columns: &'a [Column],
    before: &'a Row,
    now: &'a Row,
    /// Time between the two rows, in seconds.
    pub seconds: f64,
}

/// Half of the range of 32 bits. A decrease below this value is a restart of the counter, not a wrap.
const HALF_32_BITS: f64 = 2_147_483_648.0;

impl<'a> Change<'a> {
    /// Compares two rows of the same subject. `None` if the subjects differ, or if no time has passed.
    pub fn new(columns: &'a [Column], before: &'a Row, now: &'a Row, seconds: f64) -> Option<Self> {
        let same = before.subject == now.subject && before.incarnation == now.incarnation;
        (same && seconds > 0.0).then_some(Self { columns, before, now, seconds })
    }

    /// Returns the growth of a counter. `None` if it is unknown, not a counter, or has restarted.
    pub fn growth(&self, name: &str) -> Option<f64> {
        let at = self.columns.iter().position(|column| column.name == name)?;
        let (before, now) = ((*self.before.values.get(at)?)?, (*self.now.values.get(at)?)?);
        let fallen = before - now;
        match self.columns[at].kind {
            Kind::Gauge | Kind::Id => None,
            _ if fallen <= 0.0 => Some(now - before),
            Kind::Counter32 if fallen > HALF_32_BITS => Some(2.0 * HALF_32_BITS - fallen),
            Kind::Wrapping if self.now.wraps_at > fallen => Some(self.now.wraps_at - fallen),
            Kind::Counter | Kind::Counter32 | Kind::Wrapping => None,
        }
    }

    /// Returns the growth of a counter per second.
    pub fn rate(&self, name: &str) -> Option<f64> {
        self.growth(name).map(|growth| growth / self.seconds)
    }

    /// Returns the present value of a figure.
    pub fn now(&self, name: &str) -> Option<f64> {
        let at = self.columns.iter().position(|column| column.name == name)?;
        *self.now.values.get(at)?
    }
}

/// Formats a figure: whole numbers without a decimal point, others with up to six decimals. Unknown values
/// give an empty text.
pub(super) fn text(value: Option<f64>) -> String {
    let mut text = String::new();
    append(&mut text, value);
    text
}

/// Appends a figure in the format of [`text`].
pub(super) fn append(text: &mut String, value: Option<f64>) {
    /// Limit below which every whole f64 fits into i64.
    const WHOLE_BELOW: f64 = 9_007_199_254_740_992.0;
    let Some(value) = value.filter(|value| value.is_finite()) else { return };
    let begin = text.len();
    // Writing to a string cannot fail. Nearly all figures are counts, which are formatted many times faster
    // as integers than as fractions.
    let _ = match value.fract() == 0.0 {
        true if value.abs() < WHOLE_BELOW => write!(text, "{}", value as i64),
        true => write!(text, "{value}"),
        false => write!(text, "{value:.6}"),
    };
    let digits = &text[begin..];
    if digits.contains('.') {
        text.truncate(begin + digits.trim_end_matches('0').trim_end_matches('.').len());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const COLUMNS: &[Column] = &[
        Column::gauge("level", ""),
        Column::counter("sent", ""),
        Column::counter32("small", ""),
        Column::wrapping("energy", ""),
    ];

    fn row(values: [f64; 4]) -> Row {
        Row { wraps_at: 1000.0, ..Row::new("it", values.map(Some).to_vec()) }
    }

    fn growth(name: &str, before: [f64; 4], now: [f64; 4]) -> Option<f64> {
        let (before, now) = (row(before), row(now));
        Change::new(COLUMNS, &before, &now, 2.0).unwrap().growth(name)
    }

    #[test]
    fn counters_grow_gauges_do_not() {
        let (before, now) = ([5.0, 10.0, 10.0, 10.0], [3.0, 14.0, 14.0, 14.0]);
        assert_eq!(growth("level", before, now), None);
        assert_eq!(growth("sent", before, now), Some(4.0));
        assert_eq!(growth("unknown", before, now), None);
        assert!(growth("sent", before, before).unwrap().is_sign_positive(), "0 and not -0");
        let (before, now) = (row(before), row(now));
        let change = Change::new(COLUMNS, &before, &now, 2.0).unwrap();
        assert_eq!((change.rate("sent"), change.now("level")), (Some(2.0), Some(3.0)));
    }

    #[test]
    fn a_counter_that_wraps_has_grown_and_one_that_began_anew_says_nothing() {
        let high = 4_294_967_290.0;
        assert_eq!(growth("small", [0.0, 0.0, high, 0.0], [0.0, 0.0, 4.0, 0.0]), Some(10.0));
        assert_eq!(growth("small", [0.0, 0.0, 100.0, 0.0], [0.0, 0.0, 4.0, 0.0]), None);
        assert_eq!(growth("sent", [0.0, high, 0.0, 0.0], [0.0, 4.0, 0.0, 0.0]), None);
        assert_eq!(growth("energy", [0.0, 0.0, 0.0, 990.0], [0.0, 0.0, 0.0, 5.0]), Some(15.0));
    }

    #[test]
    fn another_thing_by_the_same_name_is_not_compared() {
        let before = row([0.0; 4]);
        let other = Row { incarnation: 7, ..row([1.0; 4]) };
        assert!(Change::new(COLUMNS, &before, &other, 1.0).is_none());
        assert!(Change::new(COLUMNS, &before, &before, 0.0).is_none());
    }

    #[test]
    fn figures_are_written_in_full_and_without_what_says_nothing() {
        let written =
            [Some(0.0), Some(1_234_567_890_123_456.0), Some(0.25), Some(1.0 / 3.0), None, Some(f64::NAN)];
        assert_eq!(written.map(text), ["0", "1234567890123456", "0.25", "0.333333", "", ""]);
    }
}
