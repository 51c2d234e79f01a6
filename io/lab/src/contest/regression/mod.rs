//! Detects if one file of results is worse than another: a gate for changes.
//!
//! A rival that responds with errors is quick, and a rival that does not respond has no latency. Therefore
//! failures and missing results are checked first. Faults of the lab say nothing about the rival, so they
//! neither close nor open the gate.

mod agreement;
mod sameness;

use std::cmp::Ordering;

use weir_config::lab::{Case, Measure, Product};
use weir_stats::compare::{Estimate, Evidence, SIGNIFICANT, holm, least_ranked, mann_whitney};

use super::analysis::{Analysis, SUCCESS_MIN};
use super::store::Played;
pub use agreement::Verdicts;

/// Comparison of a second file with a first one.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Comparison {
    /// Measures that both files have.
    pub figures: Vec<Regression>,
    /// Failed requests of each case and rival that both files have.
    pub failures: Vec<Failures>,
    /// Parts of the first file that are missing or different in the second, one sentence each. Each of them
    /// closes the gate.
    pub missing: Vec<String>,
    /// Parts that are unknown in the second file through a fault of the lab, one sentence each. They may be
    /// worse or not.
    pub unknown: Vec<String>,
    /// Runs of the second file that are not measured through a fault of the lab, one sentence each.
    pub unmeasured: Vec<String>,
    /// Verdicts over all cases.
    pub verdicts: Verdicts,
    /// Further notes about the comparison.
    pub notes: Vec<String>,
}

/// One measure of one case and rival in both files.
#[derive(Debug, Clone, PartialEq)]
pub struct Regression {
    /// Name of the case.
    pub case: String,
    /// Name of the rival.
    pub rival: String,
    /// Measure.
    pub measure: Measure,
    /// Value in the first file.
    pub before: Estimate,
    /// Value in the second file.
    pub after: Estimate,
    /// Result of the test of the first file against the second.
    pub evidence: Evidence,
    /// P-value after correction for multiple comparisons.
    pub adjusted: f64,
    /// Lowest corrected p-value that is possible with this number of runs, however large the difference.
    pub least: f64,
}

/// Failed requests of one case and rival in both files.
#[derive(Debug, Clone, PartialEq)]
pub struct Failures {
    /// Name of the case.
    pub case: String,
    /// Name of the rival.
    pub rival: String,
    /// Share of failed requests in all runs of the first file.
    pub before: f64,
    /// Share of failed requests in all runs of the second file.
    pub after: f64,
    /// Result of the test of the first file against the second.
    pub evidence: Evidence,
    /// P-value after correction for multiple comparisons.
    pub adjusted: f64,
    /// Lowest corrected p-value that is possible with this number of runs, however large the difference.
    pub least: f64,
    /// Set when the case has trouble: requests may fail, and their share varies between runs.
    pub is_by_design: bool,
}

/// Increase of the share of failed requests that is always worse, without a test.
const FAILED_MORE: f64 = 0.01;
/// Increase of the share of failed requests that is worse if it is significant.
const FAILED_MORE_SURELY: f64 = 0.001;

impl Comparison {
    /// Returns true if the second file is worse: a measure differs significantly and by more than `tolerance`
    /// (0.02 = 2 percent), more requests failed, or results are missing.
    pub fn is_worse(&self, tolerance: f64) -> bool {
        !self.missing.is_empty()
            || self.failures.iter().any(Failures::is_worse)
            || self.figures.iter().any(|one| one.is_worse(tolerance))
    }

    /// Returns true if some results have too few runs to be shown as worse, however much worse they are.
    pub fn is_hopeless(&self) -> bool {
        !self.unknown.is_empty()
            || self.figures.iter().any(Regression::is_hopeless)
            || self.failures.iter().any(Failures::is_hopeless)
    }
}

impl Regression {
    /// Returns the median of the second file divided by that of the first.
    pub fn ratio(&self) -> f64 {
        self.after.median / self.before.median
    }

    /// Returns true if the difference is significant and larger than `tolerance` (0.02 = 2 percent), and
    /// median and test agree.
    pub fn differs(&self, tolerance: f64) -> bool {
        let is_agreed = self.before.median.partial_cmp(&self.after.median) == Some(self.evidence.direction);
        self.adjusted < SIGNIFICANT && is_agreed && (self.ratio() - 1.0).abs() > tolerance
    }

    /// Returns true if the second file is worse, significantly and by more than `tolerance`.
    pub fn is_worse(&self, tolerance: f64) -> bool {
        self.differs(tolerance) && (self.ratio() > 1.0) != self.measure.is_more_better()
    }

    /// Returns true if there are too few runs to show any difference, however large.
    pub fn is_hopeless(&self) -> bool {
        self.least >= SIGNIFICANT
    }
}

impl Failures {
    /// Returns true if no request failed in either file, so that no test is necessary.
    pub fn is_none(&self) -> bool {
        self.before == 0.0 && self.after == 0.0
    }

    /// Returns true if the second file is worse. A large increase is always worse, unless requests may fail
    /// in this case. A smaller one is worse if it is significant.
    pub fn is_worse(&self) -> bool {
        let is_sure = self.adjusted < SIGNIFICANT && self.evidence.direction == Ordering::Less;
        let more = self.after - self.before;
        (!self.is_by_design && more > FAILED_MORE) || (is_sure && more > FAILED_MORE_SURELY)
    }

    /// Returns true if requests may fail in this case, and there are too few runs to show any increase.
    pub fn is_hopeless(&self) -> bool {
        self.is_by_design && !self.is_none() && self.least >= SIGNIFICANT
    }
}

/// Compares the second file with the first, by the measures of the first scenario's `judge`.
///
/// The files are from different times, so runs are not paired (Mann-Whitney test). All comparisons are one
/// family (Holm's correction): measures, and the shares of failed requests that are not zero. Latencies of
/// runs with under 99% expected responses are not compared, because such runs count as failures. In cases
/// with trouble, requests fail by design, and the number and duration of failures are compared.
pub fn compare(before: &Analysis, after: &Analysis) -> Comparison {
    let mut compared = Comparison { notes: notes(before, after), ..Comparison::default() };
    // Without root, the topology is not the one that the scenario requests.
    let played = |analysis: &Analysis| analysis.results.meta.get("topology").cloned().unwrap_or_default();
    let (old, new) = (played(before), played(after));
    if old != new {
        compared.missing.push(format!("the first file was played over {old:?}, the second over {new:?}"));
    }
    compared.missing.extend(sameness::of_all(&before.scenario, &after.scenario));
    if !compared.missing.is_empty() {
        return compared;
    }
    let mut rivals = Vec::new();
    for rival in &before.scenario.rivals {
        let other = after.scenario.rivals.iter().find(|other| other.name == rival.name);
        match other.map(|other| sameness::of_rivals(rival, other)).filter(|said| !said.is_empty()) {
            Some(said) => {
                compared.missing.push(format!("the second file's {} is another one: {said}", rival.name))
            }
            None => rivals.push(rival.name.as_str()),
        }
    }
    for case in &before.scenario.cases {
        match after.scenario.cases.iter().find(|other| other.name == case.name) {
            None => compared.missing.push(format!("{}: the second file has no such case", case.name)),
            Some(other) => match sameness::of_cases(case, other) {
                said if said.is_empty() => {
                    rivals.iter().for_each(|rival| compared.add(before, after, case, rival));
                }
                said => compared.missing.push(format!(
                    "{}: the second file's case of this name is another one: {said}",
                    case.name
                )),
            },
        }
    }
    compared.adjust();
    compared.verdicts = Verdicts::of(before, after);
    compared
}

impl Comparison {
    /// Compares one rival in one case.
    fn add(&mut self, before: &Analysis, after: &Analysis, case: &Case, rival: &str) {
        let name = case.name.as_str();
        let (old, new) = (valid(before, name, rival), valid(after, name, rival));
        if old.is_empty() {
            if !new.is_empty() {
                self.notes.push(format!("{name}, {rival}: the first file has no valid run to measure it by"));
            }
            return;
        }
        let unmeasured: Vec<&Played> = runs(after, name, rival).filter(|run| !run.is_measured()).collect();
        let lines =
            unmeasured.iter().map(|run| format!("{name}, {rival}, repeat {}: {}", run.repeat + 1, run.why()));
        self.unmeasured.extend(lines);
        if new.is_empty() {
            let why = why_none(after, name, rival);
            let said = format!(
                "{name}, {rival}: {} valid runs in the first file, none in the second ({why})",
                old.len()
            );
            // One measured run suffices to show a fault of the rival.
            let is_labs = !unmeasured.is_empty() && unmeasured.len() == runs(after, name, rival).count();
            if is_labs {
                self.unknown.push(said)
            } else {
                self.missing.push(said)
            }
            return;
        }
        let invalid = runs(after, name, rival).filter(|run| !run.is_valid()).count();
        if invalid > 0 {
            let all = invalid + new.len();
            self.notes
                .push(format!("{name}, {rival}: {invalid} of {all} runs of the second file are invalid"));
        }
        // Includes invalid runs, because a stuck server makes its worst runs invalid. Excludes runs that the
        // lab made invalid.
        let all = |analysis| runs(analysis, name, rival).filter(|run| run.is_measured()).collect::<Vec<_>>();
        self.failures.push(failures(case, rival, &all(before), &all(after)));
        for measure in &before.scenario.judge {
            let (old, new) = (figures(&old, *measure), figures(&new, *measure));
            let said = || {
                let what = measure.name();
                format!("{name}, {rival}: the second file has no {what} of runs that were answered")
            };
            match (Estimate::of(&old, 1), Estimate::of(&new, 1)) {
                (Some(before), Some(after)) => self.figures.push(Regression {
                    case: name.to_owned(),
                    rival: rival.to_owned(),
                    measure: *measure,
                    before,
                    after,
                    evidence: mann_whitney(&old, &new),
                    adjusted: 1.0,
                    least: least_ranked(old.len(), new.len()),
                }),
                // The number of failures is compared separately.
                (Some(_), None) if case.has_trouble() && !measure.is_of_trouble() => self.notes.push(said()),
                (Some(_), None) => self.missing.push(said()),
                (None, _) => {}
            }
        }
    }

    /// Corrects the p-values as one family.
    fn adjust(&mut self) {
        let failures = self.failures.iter_mut().filter(|one| !one.is_none());
        let figures = self.figures.iter_mut().map(|one| (&one.evidence, &mut one.adjusted, &mut one.least));
        let failures = failures.map(|one| (&one.evidence, &mut one.adjusted, &mut one.least));
        let family: Vec<_> = figures.chain(failures).collect();
        let own: Vec<f64> = family.iter().map(|(evidence, ..)| evidence.probability).collect();
        let count = own.len() as f64;
        for ((_, adjusted, least), own) in family.into_iter().zip(holm(&own)) {
            // If only this one is significant, Holm's correction multiplies its p-value by the size of the
            // family.
            (*adjusted, *least) = (own, (*least * count).min(1.0));
        }
    }
}

fn runs<'a>(analysis: &'a Analysis, case: &str, rival: &str) -> impl Iterator<Item = &'a Played> + use<'a> {
    let (case, rival) = (case.to_owned(), rival.to_owned());
    analysis.results.runs.iter().filter(move |run| run.case == case && run.rival == rival)
}

fn valid<'a>(analysis: &'a Analysis, case: &str, rival: &str) -> Vec<&'a Played> {
    runs(analysis, case, rival).filter(|run| run.is_valid()).collect()
}

fn why_none(analysis: &Analysis, case: &str, rival: &str) -> String {
    let invalid = runs(analysis, case, rival).count();
    let unmeasured = runs(analysis, case, rival).filter(|run| !run.is_measured()).count();
    let left_out = analysis.results.rivals.iter().find(|it| it.rival == rival).map(|it| it.left_out.as_str());
    match (invalid, left_out) {
        (0, Some(why)) if !why.is_empty() => why.to_owned(),
        (0, _) => "it was not played".to_owned(),
        (count, _) if unmeasured == 0 => format!("{count} invalid"),
        (count, _) => format!("{count} invalid, {unmeasured} of them not measured"),
    }
}

/// Returns the values of runs with enough expected responses. For measures of trouble, all runs count.
fn figures(runs: &[&Played], measure: Measure) -> Vec<f64> {
    let answered = runs.iter().filter(|run| measure.is_of_trouble() || 1.0 - failed(run) >= SUCCESS_MIN);
    let figure = |run: &&Played| run.figures.iter().find(|(it, _)| *it == measure).map(|(_, value)| *value);
    answered.filter_map(figure).collect()
}

/// Returns the share of failed requests of a run.
fn failed(run: &Played) -> f64 {
    1.0 - run.succeeded as f64 / run.sent.max(1) as f64
}

fn failures(case: &Case, rival: &str, old: &[&Played], new: &[&Played]) -> Failures {
    let share = |runs: &[&Played]| {
        let sum = |of: fn(&Played) -> u64| runs.iter().map(|run| of(run)).sum::<u64>();
        1.0 - sum(|run| run.succeeded) as f64 / sum(|run| run.sent).max(1) as f64
    };
    let each = |runs: &[&Played]| runs.iter().map(|run| failed(run)).collect::<Vec<_>>();
    // Failures in invalid runs of the first file must not excuse failures in the second.
    let sound: Vec<&Played> = old.iter().copied().filter(|run| run.is_valid()).collect();
    Failures {
        case: case.name.clone(),
        rival: rival.to_owned(),
        before: share(if sound.is_empty() { old } else { &sound }),
        after: share(new),
        evidence: mann_whitney(&each(old), &each(new)),
        adjusted: 1.0,
        least: least_ranked(old.len(), new.len()),
        is_by_design: case.has_trouble(),
    }
}

/// Returns notes about different facts of the machines, and different versions of rivals.
fn notes(before: &Analysis, after: &Analysis) -> Vec<String> {
    let mut notes = Vec::new();
    let fact = |analysis: &Analysis, name: &str| analysis.results.meta.get(name).cloned().unwrap_or_default();
    let (old, new) = (before.scenario.margin, after.scenario.margin);
    if old != new {
        notes.push(format!(
            "verdicts: differences up to {old} do not matter in the first file, up to {new} in the second"
        ));
    }
    // Monitors also use CPU time of the machine.
    let monitors = |analysis: &Analysis| {
        let names = analysis.scenario.monitors.iter().map(|what| what.name());
        format!("{:?}", names.collect::<Vec<_>>())
    };
    let watch = |analysis: &Analysis| analysis.scenario.watch_every.to_string();
    for (what, of) in [("monitors", &monitors as &dyn Fn(&Analysis) -> String), ("watch", &watch)] {
        let (old, new) = (of(before), of(after));
        if old != new {
            notes.push(format!("{what}: {old} in the first file, {new} in the second"));
        }
    }
    for name in ["processor", "processors", "kernel", "keepalived"] {
        let (old, new) = (fact(before, name), fact(after, name));
        if old != new {
            notes.push(format!("{name}: {old:?} in the first file, {new:?} in the second"));
        }
    }
    for rival in
        before.scenario.rivals.iter().filter(|rival| !matches!(rival.product, Product::None | Product::Weir))
    {
        let version = |analysis: &Analysis| {
            let own = analysis.results.rivals.iter().find(|it| it.rival == rival.name);
            own.map(|it| it.version.clone()).unwrap_or_default()
        };
        let (old, new) = (version(before), version(after));
        if old != new {
            notes.push(format!("{}: version {old:?} in the first file, {new:?} in the second", rival.name));
        }
    }
    notes
}
