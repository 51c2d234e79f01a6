//! Whether one file of results is worse than another: a gate for changes.
//!
//! Who answers with errors is quick, and who does not answer has no latency at all: failures and what is missing are looked at first.

use std::cmp::Ordering;

use weir_config::lab::{Case, Measure, Product};
use weir_stats::compare::{Estimate, Evidence, SIGNIFICANT, holm, least_ranked, mann_whitney};

use super::analysis::{Analysis, SUCCESS_MIN};
use super::store::Played;

/// What the second file is, measured by the first.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Comparison {
    /// Figures that both have.
    pub figures: Vec<Regression>,
    /// Requests that failed, of each case and rival that both have.
    pub failures: Vec<Failures>,
    /// What the first file has and the second cannot be measured by, a sentence each. Each is a reason to stop.
    pub missing: Vec<String>,
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
    /// The second file is worse.
    pub is_worse: bool,
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
            || self.failures.iter().any(|one| one.is_worse)
            || self.figures.iter().any(|one| one.is_worse(tolerance))
    }

    /// Of some figure there are so few runs that it could not be shown to be worse, however much it is.
    pub fn is_hopeless(&self) -> bool {
        self.figures.iter().any(Regression::is_hopeless)
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

/// Measures the second file by the first, by what the first one's scenario judges by. They were made at different times, so that
/// nothing is paired (Mann and Whitney), and all figures are one family (Holm). Figures of runs with under 99% of the answers as
/// expected are not compared: such runs are counted as failures.
pub fn compare(before: &Analysis, after: &Analysis) -> Comparison {
    let mut compared = Comparison { notes: notes(before, after), ..Comparison::default() };
    // Without root it is another than the scenario asks for.
    let played = |analysis: &Analysis| analysis.results.meta.get("topology").cloned().unwrap_or_default();
    let (old, new) = (played(before), played(after));
    if old != new {
        compared.missing.push(format!("the first file was played over {old:?}, the second over {new:?}"));
    }
    for case in &before.scenario.cases {
        match after.scenario.cases.iter().find(|other| other.name == case.name) {
            None => compared.missing.push(format!("{}: the second file has no such case", case.name)),
            Some(other) if !is_same(before, case, after, other) => {
                compared
                    .missing
                    .push(format!("{}: the second file's case of this name is another one", case.name));
            }
            Some(_) => {
                for rival in &before.scenario.rivals {
                    compared.add(before, after, &case.name, &rival.name);
                }
            }
        }
    }
    let own: Vec<f64> = compared.figures.iter().map(|it| it.evidence.probability).collect();
    let family = own.len() as f64;
    for (one, adjusted) in compared.figures.iter_mut().zip(holm(&own)) {
        // Where it is the only one that is worse, it is compared with all of them.
        (one.adjusted, one.least) = (adjusted, (one.least * family).min(1.0));
    }
    compared
}

impl Comparison {
    /// One rival in one case.
    fn add(&mut self, before: &Analysis, after: &Analysis, case: &str, rival: &str) {
        let (old, new) = (valid(before, case, rival), valid(after, case, rival));
        if old.is_empty() {
            if !new.is_empty() {
                self.notes.push(format!("{case}, {rival}: the first file has no valid run to measure it by"));
            }
            return;
        }
        if new.is_empty() {
            self.missing.push(format!(
                "{case}, {rival}: {} valid runs in the first file, none in the second ({})",
                old.len(),
                why_none(after, case, rival)
            ));
            return;
        }
        let invalid = runs(after, case, rival).filter(|run| !run.flaws.is_empty()).count();
        if invalid > 0 {
            let all = invalid + new.len();
            self.notes
                .push(format!("{case}, {rival}: {invalid} of {all} runs of the second file are invalid"));
        }
        // Also of invalid runs: a server that is stuck makes its worst ones invalid.
        let all = |analysis| runs(analysis, case, rival).collect::<Vec<_>>();
        self.failures.push(failures(case, rival, &all(before), &all(after)));
        for measure in &before.scenario.judge {
            let (old, new) = (figures(&old, *measure), figures(&new, *measure));
            let estimates = (Estimate::of(&old, 1), Estimate::of(&new, 1));
            match estimates {
                (Some(before), Some(after)) => self.figures.push(Regression {
                    case: case.to_owned(),
                    rival: rival.to_owned(),
                    measure: *measure,
                    before,
                    after,
                    evidence: mann_whitney(&old, &new),
                    adjusted: 1.0,
                    least: least_ranked(old.len(), new.len()),
                }),
                (Some(_), None) => self.missing.push(format!(
                    "{case}, {rival}: the second file has no {} of runs that were answered",
                    measure.name()
                )),
                (None, _) => {}
            }
        }
    }
}

fn runs<'a>(analysis: &'a Analysis, case: &str, rival: &str) -> impl Iterator<Item = &'a Played> + use<'a> {
    let (case, rival) = (case.to_owned(), rival.to_owned());
    analysis.results.runs.iter().filter(move |run| run.case == case && run.rival == rival)
}

fn valid<'a>(analysis: &'a Analysis, case: &str, rival: &str) -> Vec<&'a Played> {
    runs(analysis, case, rival).filter(|run| run.flaws.is_empty()).collect()
}

fn why_none(analysis: &Analysis, case: &str, rival: &str) -> String {
    let invalid = runs(analysis, case, rival).count();
    let left_out = analysis.results.rivals.iter().find(|it| it.rival == rival).map(|it| it.left_out.as_str());
    match (invalid, left_out) {
        (0, Some(why)) if !why.is_empty() => why.to_owned(),
        (0, _) => "it was not played".to_owned(),
        (count, _) => format!("{count} invalid"),
    }
}

/// Of runs that were answered.
fn figures(runs: &[&Played], measure: Measure) -> Vec<f64> {
    let answered = runs.iter().filter(|run| 1.0 - failed(run) >= SUCCESS_MIN);
    let figure = |run: &&Played| run.figures.iter().find(|(it, _)| *it == measure).map(|(_, value)| *value);
    answered.filter_map(figure).collect()
}

/// Share of a run's requests.
fn failed(run: &Played) -> f64 {
    1.0 - run.succeeded as f64 / run.sent.max(1) as f64
}

fn failures(case: &str, rival: &str, old: &[&Played], new: &[&Played]) -> Failures {
    let share = |runs: &[&Played]| {
        let sum = |of: fn(&Played) -> u64| runs.iter().map(|run| of(run)).sum::<u64>();
        1.0 - sum(|run| run.succeeded) as f64 / sum(|run| run.sent).max(1) as f64
    };
    let each = |runs: &[&Played]| runs.iter().map(|run| failed(run)).collect::<Vec<_>>();
    // What went wrong in runs that do not count must not let later ones fail.
    let sound: Vec<&Played> = old.iter().copied().filter(|run| run.flaws.is_empty()).collect();
    let (before, after) = (share(if sound.is_empty() { old } else { &sound }), share(new));
    let evidence = mann_whitney(&each(old), &each(new));
    let is_sure = evidence.probability < SIGNIFICANT && evidence.direction == Ordering::Less;
    let is_worse = after > before + FAILED_MORE || (is_sure && after > before + FAILED_MORE_SURELY);
    Failures { case: case.to_owned(), rival: rival.to_owned(), before, after, is_worse }
}

/// What is asked is the same.
fn is_same(before: &Analysis, case: &Case, after: &Analysis, other: &Case) -> bool {
    let (old, new) = (&before.scenario, &after.scenario);
    case == other
        && old.topology == new.topology
        && old.servers.kind == new.servers.kind
        && old.servers.delay == new.servers.delay
        && old.servers.arguments == new.servers.arguments
        && old.balancer.tls_in == new.balancer.tls_in
        && old.balancer.tls_out == new.balancer.tls_out
        && old.balancer.workers == new.balancer.workers
}

/// Facts of the machines that differ, and rivals' versions.
fn notes(before: &Analysis, after: &Analysis) -> Vec<String> {
    let mut notes = Vec::new();
    let fact = |analysis: &Analysis, name: &str| analysis.results.meta.get(name).cloned().unwrap_or_default();
    for name in ["processor", "processors", "kernel"] {
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
