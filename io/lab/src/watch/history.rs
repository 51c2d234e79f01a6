//! Figures over time for plots, in bounded memory.

use std::collections::BTreeMap;

use super::moment::Moment;
use super::source::Derived;
use super::table::{Column, Kind, Row};

/// Figures of several sources over time.
#[derive(Debug, Default)]
pub struct History {
    pub(super) sources: Vec<Sourced>,
}

/// Figures of one source over time.
#[derive(Debug)]
pub(super) struct Sourced {
    pub(super) name: &'static str,
    pub(super) figures: Vec<Figure>,
    /// Number of subjects that were dropped because there were too many.
    pub(super) forgotten: usize,
    /// Time per point of a curve, in seconds; 0 = one point per read.
    width_s: f64,
}

/// One figure of all subjects of a source.
#[derive(Debug)]
pub(super) struct Figure {
    pub(super) name: &'static str,
    pub(super) help: &'static str,
    place: Place,
    /// Curves by subject.
    pub(super) curves: BTreeMap<String, Curve>,
}

/// Position of a figure in a reading.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    /// Index among the derived figures.
    Derived(usize),
    /// Index among the columns.
    Column(usize),
}

/// Curve of one figure of one subject.
#[derive(Debug, Default)]
pub(super) struct Curve(Vec<Point>);

/// Connected part of a curve: seconds and values.
pub(super) type Part = Vec<(f64, f64)>;

/// Mean of one or several reads.
#[derive(Debug, Clone, Copy)]
struct Point {
    looks: f64,
    sum_at_s: f64,
    sum: f64,
}

/// Maximum number of points of a curve. Beyond it, adjacent points are merged. It exceeds the width of a plot
/// in pixels.
const POINTS_MAX: usize = 2_000;

/// Maximum number of subjects per source. Beyond it, the ones seen least recently are dropped.
const THINGS_MAX: usize = 400;

/// Multiple of the usual interval beyond which a subject counts as absent, so that no line is drawn.
pub(super) const GAP: f64 = 2.5;

impl History {
    /// Adds a moment. Moments must come in order.
    pub fn add(&mut self, moment: &Moment) {
        let at_s = moment.elapsed.as_secs_f64();
        for reading in &moment.readings {
            let sourced = self.source(reading.name, reading.columns, reading.derived);
            for (row, derived) in &reading.rows {
                sourced.add(at_s, row, derived);
            }
        }
    }

    /// Returns the data of a source, which are empty for a new source.
    pub(super) fn source(
        &mut self,
        name: &'static str,
        columns: &'static [Column],
        derived: &'static [Derived],
    ) -> &mut Sourced {
        let known = self.sources.iter().position(|sourced| sourced.name == name);
        let at = known.unwrap_or(self.sources.len());
        if known.is_none() {
            self.sources.push(Sourced::new(name, columns, derived));
        }
        &mut self.sources[at]
    }
}

impl Sourced {
    /// Puts derived figures first, then gauges. Counters are not kept.
    fn new(name: &'static str, columns: &'static [Column], derived: &'static [Derived]) -> Self {
        let figure = |name, help, place| Figure { name, help, place, curves: BTreeMap::new() };
        let follow = derived.iter().enumerate().map(|(at, it)| figure(it.name, it.help, Place::Derived(at)));
        let columns = columns.iter().enumerate().filter(|(_, column)| column.kind == Kind::Gauge);
        let gauges = columns.map(|(at, it)| figure(it.name, it.help, Place::Column(at)));
        Self { name, figures: follow.chain(gauges).collect(), forgotten: 0, width_s: 0.0 }
    }

    /// Adds the figures of a subject at a moment.
    pub(super) fn add(&mut self, at_s: f64, row: &Row, derived: &[Option<f64>]) {
        let mut is_full = false;
        for figure in &mut self.figures {
            let value = match figure.place {
                Place::Derived(at) => derived.get(at),
                Place::Column(at) => row.values.get(at),
            };
            let Some(value) = value.copied().flatten().filter(|value| value.is_finite()) else { continue };
            let curve = match figure.curves.get_mut(&row.subject) {
                Some(curve) => curve,
                None => figure.curves.entry(row.subject.clone()).or_default(),
            };
            curve.add(Point { looks: 1.0, sum_at_s: at_s, sum: value }, self.width_s);
            is_full |= curve.0.len() > POINTS_MAX;
        }
        if is_full {
            self.widen();
        }
        if self.figures.iter().any(|figure| figure.curves.len() > THINGS_MAX) {
            self.forget();
        }
    }

    /// Doubles the time per point, which at least halves the number of points of all curves.
    fn widen(&mut self) {
        let curves = || self.figures.iter().flat_map(|figure| figure.curves.values());
        let span_s = curves().map(Curve::span_s).fold(0.0, f64::max);
        self.width_s = (2.0 * self.width_s).max(span_s / (POINTS_MAX as f64 / 2.0));
        for curve in self.figures.iter_mut().flat_map(|figure| figure.curves.values_mut()) {
            let points = std::mem::take(&mut curve.0);
            points.into_iter().for_each(|point| curve.add(point, self.width_s));
        }
    }

    /// Drops the subject that was seen least recently.
    fn forget(&mut self) {
        let mut last: BTreeMap<&str, f64> = BTreeMap::new();
        for (thing, curve) in self.figures.iter().flat_map(|figure| &figure.curves) {
            let seen = last.entry(thing).or_insert(f64::NEG_INFINITY);
            *seen = seen.max(curve.0.last().map_or(f64::NEG_INFINITY, |point| point.at_s()));
        }
        let oldest = last.into_iter().min_by(|one, other| one.1.total_cmp(&other.1));
        let Some(oldest) = oldest.map(|(thing, _)| thing.to_owned()) else { return };
        self.figures.iter_mut().for_each(|figure| drop(figure.curves.remove(&oldest)));
        self.forgotten += 1;
    }

    /// Returns the time of the last point of all curves.
    pub(super) fn end_s(&self) -> f64 {
        let curves = self.figures.iter().flat_map(|figure| figure.curves.values());
        curves.filter_map(|curve| curve.0.last()).map(Point::at_s).fold(0.0, f64::max)
    }

    /// Returns the subjects that have figures, those with the largest share of any figure first.
    pub(super) fn things(&self) -> Vec<&str> {
        let mut shares: BTreeMap<&str, f64> = BTreeMap::new();
        for figure in &self.figures {
            let all: f64 = figure.curves.values().map(|curve| curve.area().abs()).sum();
            for (thing, curve) in &figure.curves {
                let share = shares.entry(thing).or_insert(0.0);
                *share = share.max(if all > 0.0 { curve.area().abs() / all } else { 0.0 });
            }
        }
        let mut things: Vec<_> = shares.into_iter().collect();
        // The sort is stable: subjects with equal shares stay in the order of their names.
        things.sort_by(|one, other| other.1.total_cmp(&one.1));
        things.into_iter().map(|(thing, _)| thing).collect()
    }
}

impl Figure {
    /// Returns true if the figure is computed from changes of others.
    pub(super) fn is_derived(&self) -> bool {
        matches!(self.place, Place::Derived(_))
    }
}

impl Curve {
    /// Adds a point. Merges it with the last point if both are in the same interval.
    fn add(&mut self, new: Point, width_s: f64) {
        let piece = |point: &Point| (point.at_s() / width_s).floor();
        match self.0.last_mut() {
            Some(last) if width_s > 0.0 && piece(last) == piece(&new) => {
                last.looks += new.looks;
                last.sum_at_s += new.sum_at_s;
                last.sum += new.sum;
            }
            _ => self.0.push(new),
        }
    }

    fn span_s(&self) -> f64 {
        self.0.first().zip(self.0.last()).map_or(0.0, |(first, last)| last.at_s() - first.at_s())
    }

    /// Returns the sum over all reads, which is larger for subjects that existed longer.
    fn area(&self) -> f64 {
        self.0.iter().map(|point| point.sum).sum()
    }

    /// Returns the minimum and the maximum.
    pub(super) fn bounds(&self) -> Option<(f64, f64)> {
        let values = || self.0.iter().map(Point::value);
        values().reduce(f64::min).zip(values().reduce(f64::max))
    }

    /// Returns seconds and values as connected parts, with gaps where the subject was absent.
    pub(super) fn parts(&self) -> Vec<Part> {
        let mut steps: Vec<f64> = self.0.windows(2).map(|two| two[1].at_s() - two[0].at_s()).collect();
        steps.sort_by(f64::total_cmp);
        let usual_s = steps.get(steps.len() / 2).copied().unwrap_or(0.0);
        let mut parts: Vec<Part> = Vec::new();
        for point in &self.0 {
            let at_s = point.at_s();
            match parts.last_mut() {
                Some(part) if part.last().is_some_and(|(last, _)| at_s - last <= GAP * usual_s) => {
                    part.push((at_s, point.value()));
                }
                _ => parts.push(vec![(at_s, point.value())]),
            }
        }
        parts
    }
}

impl Point {
    fn at_s(&self) -> f64 {
        self.sum_at_s / self.looks
    }

    fn value(&self) -> f64 {
        self.sum / self.looks
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const COLUMNS: &[Column] = &[Column::counter("sent", "Sent"), Column::gauge("level", "Level")];
    const DERIVED: &[Derived] = &[Derived { name: "growth", help: "Growth", of: |it| it.growth("sent") }];

    fn history(moments: impl IntoIterator<Item = (f64, &'static str, f64)>) -> History {
        let mut history = History::default();
        for (at_s, thing, value) in moments {
            let row = Row::new(thing, vec![Some(1.0), None]);
            history.source("told", COLUMNS, DERIVED).add(at_s, &row, &[Some(value)]);
        }
        history
    }

    fn parts(history: &History, thing: &str) -> Vec<Part> {
        history.sources[0].figures[0].curves[thing].parts()
    }

    #[test]
    fn what_follows_and_what_is_now_are_kept_and_counters_are_not() {
        let history = history([(0.0, "a", 1.0)]);
        let names: Vec<_> = history.sources[0].figures.iter().map(|figure| figure.name).collect();
        assert_eq!(names, ["growth", "level"]);
        assert!(history.sources[0].figures[1].curves.is_empty(), "what is not known is not 0");
    }

    #[test]
    fn nothing_is_drawn_of_the_time_in_which_a_thing_was_away() {
        let seconds = [0.0, 1.0, 2.0, 7.0, 8.0, 9.0];
        let history = history(seconds.map(|at_s| (at_s, "a", at_s)));
        let shown = parts(&history, "a");
        assert_eq!(
            shown,
            [vec![(0.0, 0.0), (1.0, 1.0), (2.0, 2.0)], vec![(7.0, 7.0), (8.0, 8.0), (9.0, 9.0)]]
        );
    }

    #[test]
    fn long_curves_become_coarser_and_keep_their_mean() {
        let looks = 50_000;
        let history = history((0..looks).map(|at| (f64::from(at) / 10.0, "a", f64::from(at % 2))));
        let shown = parts(&history, "a");
        assert_eq!(shown.len(), 1, "without a gap");
        assert!((POINTS_MAX / 4..=POINTS_MAX).contains(&shown[0].len()), "{}", shown[0].len());
        let inner = &shown[0][1..shown[0].len() - 1];
        assert!(inner.iter().all(|(_, value)| (value - 0.5).abs() < 0.05), "{inner:?}");
        assert!((history.sources[0].end_s() - 5_000.0).abs() < 10.0);
    }

    #[test]
    fn of_too_many_things_the_last_are_kept() {
        let mut history = History::default();
        for at in 0..THINGS_MAX + 3 {
            let row = Row::new(format!("thing{at}"), vec![None, None]);
            history.source("told", COLUMNS, DERIVED).add(at as f64, &row, &[Some(1.0)]);
        }
        let sourced = &history.sources[0];
        assert_eq!((sourced.figures[0].curves.len(), sourced.forgotten), (THINGS_MAX, 3));
        assert!(!sourced.figures[0].curves.contains_key("thing2"));
        assert!(sourced.figures[0].curves.contains_key("thing3"));
    }

    #[test]
    fn those_with_the_most_come_first() {
        let history = history([(0.0, "a", 1.0), (0.0, "b", 5.0), (0.0, "c", 3.0), (1.0, "c", 3.0)]);
        assert_eq!(history.sources[0].things(), ["c", "b", "a"]);
    }
}
