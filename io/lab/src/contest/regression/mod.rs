//! Whether one file of results is worse than another: a gate for changes.
//!
//! Who answers with errors is quick, and who does not answer has no latency at all: failures and what is missing are looked at first.
//! What the lab itself is to blame for says nothing of who was measured: it closes no gate, and opens none.

mod agreement;
mod sameness;

use std::cmp::Ordering;

use weir_config::lab::{Case, Measure, Product};
use weir_stats::compare::{Estimate, Evidence, SIGNIFICANT, holm, least_ranked, mann_whitney};

use super::analysis::{Analysis, SUCCESS_MIN};
use super::store::Played;
pub use agreement::Verdicts;

/// What the second file is, measured by the first.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Comparison {
    /// Figures that both have.
    pub figures: Vec<Regression>,
    /// Requests that failed, of each case and rival that both have.
    pub failures: Vec<Failures>,
    /// What the first file has and the second cannot be measured by, a sentence each. Each is a reason to stop.
    pub missing: Vec<String>,
    /// What the second file does not say, by the lab's own fault, a sentence each: it may be worse or not.
    pub unknown: Vec<String>,
    /// Runs of the second file that are not measured for that reason, a sentence each.
    pub unmeasured: Vec<String>,
    /// Verdicts over all cases.
    pub verdicts: Verdicts,
    /// What else is to be known of the comparison.
    pub notes: Vec<String>,
}

/// One figure of one case of one rival, in both files.
#[derive(Debug, Clone, PartialEq)]
pub struct Regression {
    /// Which case.
    pub case: String,
    /// Who.
    pub rival: String,
    /// By which figure.
    pub measure: Measure,
    /// In the first file.
    pub before: Estimate,
    /// In the second.
    pub after: Estimate,
    /// By the test, how the first stands to the second.
    pub evidence: Evidence,
    /// How likely chance alone makes such a difference, as one of many.
    pub adjusted: f64,
    /// The least that this could be with so many runs, however large the difference.
    pub least: f64,
}

/// Requests of one case of one rival that failed, in both files.
#[derive(Debug, Clone, PartialEq)]
pub struct Failures {
    /// Which case.
    pub case: String,
    /// Who.
    pub rival: String,
    /// Share of the requests in the first file, of all runs.
    pub before: f64,
    /// In the second.
    pub after: f64,
    /// By the test, how the first stands to the second.
    pub evidence: Evidence,
    /// How likely chance alone makes such a difference, as one of many.
    pub adjusted: f64,
    /// The least that this could be with so many runs, however large the difference.
    pub least: f64,
    /// Something is lost or reloaded in this case: requests may fail, and by how much differs from run to run.
    pub is_by_design: bool,
}

/// A share of failed requests that is larger by this much is worse, whatever chance may do.
const FAILED_MORE: f64 = 0.01;
/// One that is larger by this much is worse if runs say so beyond chance.
const FAILED_MORE_SURELY: f64 = 0.001;

impl Comparison {
    /// Whether the second file is worse: a figure beyond chance and by more than `tolerance` (0.02 = 2 percent), more failures, or
    /// something is missing.
    pub fn is_worse(&self, tolerance: f64) -> bool {
        !self.missing.is_empty()
            || self.failures.iter().any(Failures::is_worse)
            || self.figures.iter().any(|one| one.is_worse(tolerance))
    }

    /// Of something there are so few runs that it could not be shown to be worse, however much it is.
    pub fn is_hopeless(&self) -> bool {
        !self.unknown.is_empty()
            || self.figures.iter().any(Regression::is_hopeless)
            || self.failures.iter().any(Failures::is_hopeless)
    }
}

impl Regression {
    /// The second file's median / the first's.
    pub fn ratio(&self) -> f64 {
        self.after.median / self.before.median
    }

    /// The two differ beyond chance, by more than `tolerance` (0.02 = 2 percent), and median and test say the same.
    pub fn differs(&self, tolerance: f64) -> bool {
        let is_agreed = self.before.median.partial_cmp(&self.after.median) == Some(self.evidence.direction);
        self.adjusted < SIGNIFICANT && is_agreed && (self.ratio() - 1.0).abs() > tolerance
    }

    /// The second file is worse, beyond chance and by more than `tolerance`.
    pub fn is_worse(&self, tolerance: f64) -> bool {
        self.differs(tolerance) && (self.ratio() > 1.0) != self.measure.is_more_better()
    }

    /// With so few runs no difference could be shown, however large.
    pub fn is_hopeless(&self) -> bool {
        self.least >= SIGNIFICANT
    }
}

impl Failures {
    /// None did in either file: nothing is asked of chance.
    pub fn is_none(&self) -> bool {
        self.before == 0.0 && self.after == 0.0
    }

    /// The second file is worse: by so much that nobody asks, unless requests may fail; or beyond chance.
    pub fn is_worse(&self) -> bool {
        let is_sure = self.adjusted < SIGNIFICANT && self.evidence.direction == Ordering::Less;
        let more = self.after - self.before;
        (!self.is_by_design && more > FAILED_MORE) || (is_sure && more > FAILED_MORE_SURELY)
    }

    /// Requests may fail, and with so few runs it could not be shown that more do, however many.
    pub fn is_hopeless(&self) -> bool {
        self.is_by_design && !self.is_none() && self.least >= SIGNIFICANT
    }
}

/// Measures the second file by the first, by what the first one's scenario judges by. They were made at different times, so that
/// nothing is paired (Mann and Whitney), and all that is asked is one family (Holm): figures, and shares of failed requests where
/// there are any. Latencies of runs with under 99% of the answers as expected are not compared: such runs are counted as failures.
/// Where something is lost or reloaded requests fail by design, and how many do and for how long is what is compared.
pub fn compare(before: &Analysis, after: &Analysis) -> Comparison {
    let mut compared = Comparison { notes: notes(before, after), ..Comparison::default() };
    // Without root it is another than the scenario asks for.
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
    /// One rival in one case.
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
            // One that was measured is enough to know that something is wrong.
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
        // Also of invalid runs: a server that is stuck makes its worst ones invalid. But not of those that the lab has spoilt.
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
                // How many fail is compared by itself.
                (Some(_), None) if case.has_trouble() && !measure.is_of_trouble() => self.notes.push(said()),
                (Some(_), None) => self.missing.push(said()),
                (None, _) => {}
            }
        }
    }

    /// What is left of probabilities, as those of one family.
    fn adjust(&mut self) {
        let failures = self.failures.iter_mut().filter(|one| !one.is_none());
        let figures = self.figures.iter_mut().map(|one| (&one.evidence, &mut one.adjusted, &mut one.least));
        let failures = failures.map(|one| (&one.evidence, &mut one.adjusted, &mut one.least));
        let family: Vec<_> = figures.chain(failures).collect();
        let own: Vec<f64> = family.iter().map(|(evidence, ..)| evidence.probability).collect();
        let count = own.len() as f64;
        for ((_, adjusted, least), own) in family.into_iter().zip(holm(&own)) {
            // Where it is the only one that is worse, it is compared with all of them.
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

/// Of runs that were answered; what is of trouble, of all.
fn figures(runs: &[&Played], measure: Measure) -> Vec<f64> {
    let answered = runs.iter().filter(|run| measure.is_of_trouble() || 1.0 - failed(run) >= SUCCESS_MIN);
    let figure = |run: &&Played| run.figures.iter().find(|(it, _)| *it == measure).map(|(_, value)| *value);
    answered.filter_map(figure).collect()
}

/// Share of a run's requests.
fn failed(run: &Played) -> f64 {
    1.0 - run.succeeded as f64 / run.sent.max(1) as f64
}

fn failures(case: &Case, rival: &str, old: &[&Played], new: &[&Played]) -> Failures {
    let share = |runs: &[&Played]| {
        let sum = |of: fn(&Played) -> u64| runs.iter().map(|run| of(run)).sum::<u64>();
        1.0 - sum(|run| run.succeeded) as f64 / sum(|run| run.sent).max(1) as f64
    };
    let each = |runs: &[&Played]| runs.iter().map(|run| failed(run)).collect::<Vec<_>>();
    // What went wrong in runs that do not count must not let later ones fail.
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

/// Facts of the machines that differ, and rivals' versions.
fn notes(before: &Analysis, after: &Analysis) -> Vec<String> {
    let mut notes = Vec::new();
    let fact = |analysis: &Analysis, name: &str| analysis.results.meta.get(name).cloned().unwrap_or_default();
    let (old, new) = (before.scenario.margin, after.scenario.margin);
    if old != new {
        notes.push(format!(
            "verdicts: differences up to {old} do not matter in the first file, up to {new} in the second"
        ));
    }
    // What looks costs time of the machine, too.
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
