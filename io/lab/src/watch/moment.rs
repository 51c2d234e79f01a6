//! Reads all figures at one moment.

use std::collections::HashMap;
use std::time::{Duration, Instant, SystemTime};

use serde_json::{Map, Value, json};

use super::csv::Figures;
use super::source::{Derived, Source, WatchError};
use super::table::{Change, Column, Row};

/// Several sources that are read together.
pub struct Watch {
    sources: Vec<Watched>,
    started: Instant,
    figures: Figures,
}

struct Watched {
    source: Box<dyn Source>,
    /// Last rows by subject, and the time of the read.
    before: Option<(Instant, HashMap<String, Row>)>,
}

/// Figures of all sources at one moment.
#[derive(Debug)]
pub struct Moment {
    /// Wall-clock time of the read.
    pub at: SystemTime,
    /// Time since the start of the watch, by a monotonic clock.
    pub elapsed: Duration,
    /// Readings of each source, in order.
    pub readings: Vec<Reading>,
}

/// Figures of one source at one moment.
#[derive(Debug)]
pub struct Reading {
    /// Name of the source.
    pub name: &'static str,
    /// Columns of the source.
    pub columns: &'static [Column],
    /// Derived figures of the source.
    pub derived: &'static [Derived],
    /// Figures of each subject, and its derived figures from the second read on. A [`Watch::raw`] has no
    /// derived figures.
    pub rows: Vec<(Row, Vec<Option<f64>>)>,
}

impl Watch {
    /// Creates a watch of these sources.
    pub fn new(sources: Vec<Box<dyn Source>>) -> Self {
        let sources = sources.into_iter().map(|source| Watched { source, before: None }).collect();
        Self { sources, started: Instant::now(), figures: Figures::All }
    }

    /// Disables derived figures, which saves their cost.
    #[must_use]
    pub fn raw(self) -> Self {
        Self { figures: Figures::Raw, ..self }
    }

    /// Reads all sources.
    ///
    /// # Errors
    /// If a source cannot be read.
    pub fn read(&mut self) -> Result<Moment, WatchError> {
        let (at, elapsed) = (SystemTime::now(), self.started.elapsed());
        let figures = self.figures;
        let readings = self.sources.iter_mut().map(|it| it.read(figures)).collect::<Result<_, _>>()?;
        Ok(Moment { at, elapsed, readings })
    }

    /// Returns messages about subjects that were selected by name but do not exist now.
    ///
    /// # Errors
    /// If a source cannot be read.
    pub fn missing(&mut self) -> Result<Vec<String>, WatchError> {
        let missing = self.sources.iter_mut().map(|it| it.source.missing());
        Ok(missing.collect::<Result<Vec<_>, _>>()?.concat())
    }

    /// Returns notes that every reader of the figures must know.
    pub fn notes(&self) -> Vec<String> {
        self.sources.iter().filter_map(|it| it.source.note()).collect()
    }
}

impl std::fmt::Debug for Watch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.sources.iter().map(|watched| watched.source.name())).finish()
    }
}

impl Watched {
    fn read(&mut self, figures: Figures) -> Result<Reading, WatchError> {
        let rows = self.source.read()?;
        let now = Instant::now();
        let (name, columns, derived) = (self.source.name(), self.source.columns(), self.source.derived());
        if figures == Figures::Raw {
            let rows = rows.into_iter().map(|row| (row, Vec::new())).collect();
            return Ok(Reading { name, columns, derived, rows });
        }
        let known: HashMap<_, _> = rows.iter().map(|row| (row.subject.clone(), row.clone())).collect();
        let before = self.before.replace((now, known));
        let follows = |row: &Row| {
            let change = before.as_ref().and_then(|(then, before)| {
                let seconds = now.duration_since(*then).as_secs_f64();
                Change::new(columns, before.get(&row.subject)?, row, seconds)
            });
            of_change(derived, change.as_ref())
        };
        let rows =
            rows.into_iter().map(|row| (follows(&row), row)).map(|(follows, row)| (row, follows)).collect();
        Ok(Reading { name, columns, derived, rows })
    }
}

/// Returns the derived figures of a change; `None` values if there is no change.
pub(super) fn of_change(derived: &[Derived], change: Option<&Change<'_>>) -> Vec<Option<f64>> {
    derived.iter().map(|it| change.and_then(|change| (it.of)(change))).collect()
}

impl Moment {
    /// Returns true if no source has a row.
    pub fn is_empty(&self) -> bool {
        self.readings.iter().all(|reading| reading.rows.is_empty())
    }

    /// Returns the seconds since 1970.
    pub fn unix_s(&self) -> f64 {
        self.at.duration_since(SystemTime::UNIX_EPOCH).map_or(0.0, |since| since.as_secs_f64())
    }

    /// Returns the moment as one JSON object, with a list of subjects and their figures per source.
    pub fn to_json(&self) -> Value {
        let mut all = Map::new();
        all.insert("time".to_owned(), json!((self.unix_s() * 1e3).round() / 1e3));
        all.insert("elapsed_s".to_owned(), json!(self.elapsed.as_secs_f64()));
        for reading in &self.readings {
            let rows = reading.rows.iter().map(|(row, derived)| Value::Object(reading.object(row, derived)));
            all.insert(reading.name.to_owned(), rows.collect());
        }
        Value::Object(all)
    }
}

impl Reading {
    fn object(&self, row: &Row, derived: &[Option<f64>]) -> Map<String, Value> {
        let names = self.columns.iter().map(|it| it.name).chain(self.derived.iter().map(|it| it.name));
        let values = row.values.iter().chain(derived);
        let known = names.zip(values).filter_map(|(name, value)| Some((name.to_owned(), figure((*value)?))));
        std::iter::once(("subject".to_owned(), json!(row.subject))).chain(known).collect()
    }
}

/// Writes whole numbers without a decimal point.
fn figure(value: f64) -> Value {
    /// Maximum up to which f64 represents every whole number.
    const EXACT_MAX: f64 = 9_007_199_254_740_992.0;
    if value.fract() == 0.0 && value.abs() <= EXACT_MAX { json!(value as i64) } else { json!(value) }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// Source that returns prepared rows.
    #[derive(Debug)]
    pub(in super::super) struct Told(pub(in super::super) Vec<Vec<Row>>);

    const COLUMNS: &[Column] = &[Column::counter("sent", "Sent"), Column::gauge("level", "Level")];
    const DERIVED: &[Derived] = &[Derived { name: "growth", help: "Growth", of: |it| it.growth("sent") }];

    impl Source for Told {
        fn name(&self) -> &'static str {
            "told"
        }

        fn columns(&self) -> &'static [Column] {
            COLUMNS
        }

        fn derived(&self) -> &'static [Derived] {
            DERIVED
        }

        fn read(&mut self) -> Result<Vec<Row>, WatchError> {
            Ok(self.0.remove(0))
        }
    }

    pub(in super::super) fn row(subject: &str, sent: f64) -> Row {
        Row::new(subject, vec![Some(sent), None])
    }

    #[test]
    fn what_follows_is_said_from_the_second_time_on_and_of_what_is_still_there() {
        let told = Told(vec![
            vec![row("a", 1.0), row("b", 5.0)],
            vec![row("b", 7.0), row("c", 1.0)],
            vec![row("a", 9.0), row("b", 8.0)],
        ]);
        let mut watch = Watch::new(vec![Box::new(told)]);
        let mut growths = || -> Vec<(String, Option<f64>)> {
            let moment = watch.read().unwrap();
            moment.readings[0].rows.iter().map(|(row, derived)| (row.subject.clone(), derived[0])).collect()
        };
        let of = |subject: &str, growth| (subject.to_owned(), growth);
        assert_eq!(growths(), [of("a", None), of("b", None)]);
        assert_eq!(growths(), [of("b", Some(2.0)), of("c", None)]);
        assert_eq!(growths(), [of("a", None), of("b", Some(1.0))], "one that was away begins anew");
    }

    #[test]
    fn raw_figures_come_without_what_follows() {
        let told = Told(vec![vec![row("a", 1.0)], vec![row("a", 2.0)]]);
        let mut watch = Watch::new(vec![Box::new(told)]).raw();
        watch.read().unwrap();
        let moment = watch.read().unwrap();
        assert_eq!(moment.readings[0].rows, [(row("a", 2.0), Vec::new())]);
    }

    #[test]
    fn json_has_what_is_known() {
        let told = Told(vec![vec![row("a", 1.5)], vec![row("a", 4.0)]]);
        let mut watch = Watch::new(vec![Box::new(told)]);
        watch.read().unwrap();
        let json = watch.read().unwrap().to_json();
        assert_eq!(json["told"], json!([{ "subject": "a", "sent": 4, "growth": 2.5 }]));
        assert!(json["time"].as_f64().unwrap() > 1.6e9 && json["elapsed_s"].as_f64().unwrap() > 0.0);
    }
}
