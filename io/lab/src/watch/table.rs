//! What a source of figures says: rows of one shape.

use std::fmt::Write as _;

/// What a column's figures mean.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// How much there is now.
    Gauge,
    /// How much there has been in all since something began; only grows, until it begins anew.
    Counter,
    /// The same in a number of 32 bits, which begins at 0 again after the largest.
    Counter32,
    /// A counter that begins at 0 again after so much, which is said by the source beside it.
    Wrapping,
    /// Which one it is: a number that is no amount of anything.
    Id,
}

impl Kind {
    /// Whether it counts: rates are made of it.
    pub(super) fn is_counter(self) -> bool {
        !matches!(self, Self::Gauge | Self::Id)
    }
}

/// A column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Column {
    /// With its unit at the end, where it has one.
    pub name: &'static str,
    /// What its figures mean.
    pub kind: Kind,
    /// For people.
    pub help: &'static str,
    /// Whether people see it beside what follows from the figures.
    pub is_shown: bool,
}

impl Column {
    const fn new(name: &'static str, kind: Kind, help: &'static str) -> Self {
        Self { name, kind, help, is_shown: false }
    }

    /// The same where people look for it.
    #[must_use]
    pub const fn shown(self) -> Self {
        Self { is_shown: true, ..self }
    }

    /// A figure of now.
    pub const fn gauge(name: &'static str, help: &'static str) -> Self {
        Self::new(name, Kind::Gauge, help)
    }

    /// A number that says which one it is.
    pub const fn id(name: &'static str, help: &'static str) -> Self {
        Self::new(name, Kind::Id, help)
    }

    /// A figure that grows.
    pub const fn counter(name: &'static str, help: &'static str) -> Self {
        Self::new(name, Kind::Counter, help)
    }

    /// A figure that grows, of 32 bits.
    pub const fn counter32(name: &'static str, help: &'static str) -> Self {
        Self::new(name, Kind::Counter32, help)
    }

    /// A figure that grows to a bound of its own.
    pub const fn wrapping(name: &'static str, help: &'static str) -> Self {
        Self::new(name, Kind::Wrapping, help)
    }
}

/// One thing at one moment.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    /// Which disk, process, interface ...
    pub subject: String,
    /// Tells this one from another that had the same name before: a process from a later one with its number.
    pub incarnation: u64,
    /// In the order of the columns; `None` = this system does not say.
    pub values: Vec<Option<f64>>,
    /// Where its wrapping counters begin at 0 again; 0 = it has none.
    pub wraps_at: f64,
}

impl Row {
    /// Of something whose figures are all of one life.
    pub fn new(subject: impl Into<String>, values: Vec<Option<f64>>) -> Self {
        Self { subject: subject.into(), incarnation: 0, values, wraps_at: 0.0 }
    }
}

/// How a row is compared with the one before.
#[derive(Debug, Clone, Copy)]
pub struct Change<'a> {
    columns: &'a [Column],
    before: &'a Row,
    now: &'a Row,
    /// Time between the two, in seconds.
    pub seconds: f64,
}

/// Half of what 32 bits can count: a number that has become smaller by less than this did not wrap, it began anew.
const HALF_32_BITS: f64 = 2_147_483_648.0;

impl<'a> Change<'a> {
    /// From one row to the next of the same thing. `None` if it is not the same, or no time has passed.
    pub fn new(columns: &'a [Column], before: &'a Row, now: &'a Row, seconds: f64) -> Option<Self> {
        let same = before.subject == now.subject && before.incarnation == now.incarnation;
        (same && seconds > 0.0).then_some(Self { columns, before, now, seconds })
    }

    /// By how much a counter has grown. `None`: it is not known, is no counter, or has begun anew.
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

    /// The same for each second.
    pub fn rate(&self, name: &str) -> Option<f64> {
        self.growth(name).map(|growth| growth / self.seconds)
    }

    /// What a figure is now.
    pub fn now(&self, name: &str) -> Option<f64> {
        let at = self.columns.iter().position(|column| column.name == name)?;
        *self.now.values.get(at)?
    }
}

/// A figure as text: whole numbers without a point, others with up to six digits behind it; nothing for what is unknown.
pub(super) fn text(value: Option<f64>) -> String {
    let mut text = String::new();
    append(&mut text, value);
    text
}

/// The same, behind what is there.
pub(super) fn append(text: &mut String, value: Option<f64>) {
    /// Below it every whole number is one of i64, too.
    const WHOLE_BELOW: f64 = 9_007_199_254_740_992.0;
    let Some(value) = value.filter(|value| value.is_finite()) else { return };
    let begin = text.len();
    // Writing to a string does not fail. Nearly all figures are counts, which are written many times as fast as fractions.
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
