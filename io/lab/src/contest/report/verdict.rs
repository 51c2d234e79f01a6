//! Verdict of a comparison as sentences.

use weir_config::lab::Measure;

use super::super::analysis::{Analysis, Pair, Standing};
use super::tables::{is_rival, pairs, percent, probability, ratio};

/// Maximum number of pairs that are named. Further ones are only counted.
const NAMED_MAX: usize = 4;

/// Finding of an analysis.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Finding {
    /// Measure of the finding; `None` = it concerns all measures.
    pub(super) measure: Option<Measure>,
    /// Text that stands alone.
    pub(super) sentence: String,
    /// Text below the heading of the measure.
    pub(super) entry: String,
}

impl Finding {
    /// Creates a finding whose sentence begins with the name of the measure.
    fn of(measure: Measure, entry: String) -> Self {
        Self { measure: Some(measure), sentence: format!("{}: {entry}", what(measure)), entry }
    }

    fn of_all(sentence: String) -> Self {
        Self { measure: None, entry: sentence.clone(), sentence }
    }
}

/// Returns the verdict, one sentence per finding: significant differences that matter, differences shown not
/// to matter, and obstacles to a verdict.
pub fn verdict(analysis: &Analysis) -> Vec<String> {
    findings(analysis).into_iter().map(|finding| finding.sentence).collect()
}

/// Returns the verdict as lists for a terminal: first the findings that concern all measures, then those of
/// each measure.
pub fn verdict_by_figure(analysis: &Analysis) -> String {
    let findings = findings(analysis);
    let of = |measure: Option<Measure>| findings.iter().filter(move |finding| finding.measure == measure);
    let mut out: String = of(None).map(|finding| format!("{}\n", finding.entry)).collect();
    for measure in &analysis.scenario.judge {
        let entries: String = of(Some(*measure)).map(|finding| format!("  - {}\n", finding.entry)).collect();
        if !entries.is_empty() {
            out.push_str(&format!("{}\n{entries}", measure.title()));
        }
    }
    out
}

pub(super) fn findings(analysis: &Analysis) -> Vec<Finding> {
    let mut said = Vec::new();
    for measure in &analysis.scenario.judge {
        of_measure(analysis, *measure, &mut said);
    }
    said.extend(of_all(analysis).into_iter().map(Finding::of_all));
    said
}

fn of_measure(analysis: &Analysis, measure: Measure, said: &mut Vec<Finding>) {
    let overall = analysis.pairs.iter().filter(|pair| pair.measure == measure && pair.case.is_none());
    let (controls, overall): (Vec<&Pair>, Vec<&Pair>) = overall.partition(|pair| analysis.is_control(pair));
    said.extend(controls.into_iter().map(control));
    let (same, others): (Vec<&Pair>, Vec<&Pair>) =
        overall.into_iter().partition(|pair| pair.standing() == Standing::Same);
    let (open, clear): (Vec<&Pair>, Vec<&Pair>) =
        others.into_iter().partition(|pair| pair.standing() == Standing::Open);
    said.extend(clear.iter().map(|pair| better(analysis, pair)));
    let (hopeless, open): (Vec<&Pair>, Vec<&Pair>) = open.into_iter().partition(|pair| pair.is_hopeless());
    let (torn, open): (Vec<&Pair>, Vec<&Pair>) = open.into_iter().partition(|pair| pair.is_torn());
    let (small, open): (Vec<&Pair>, Vec<&Pair>) = open.into_iter().partition(|pair| pair.is_small());
    let margin = percent(analysis.margin_of(measure));
    let mut say = |entry: String| said.push(Finding::of(measure, entry));
    if !same.is_empty() {
        say(format!("no difference that matters between {}: within {margin}.", named(&same)));
    }
    // Many cases without a difference may hide one with a difference.
    for pair in &same {
        let apart = elsewhere(analysis, pair);
        if !apart.is_empty() {
            say(format!("but {} and {} differ in {}.", pair.one, pair.other, apart.join(", ")));
        }
    }
    if !small.is_empty() {
        say(format!(
            "undecided between {}: they differ, but whether by more than {margin} could not be shown.",
            named(&small)
        ));
    }
    if !open.is_empty() {
        say(format!(
            "undecided between {}: no difference could be shown, nor that there is none over {margin}.",
            named(&open)
        ));
    }
    if !torn.is_empty() {
        say(format!(
            "the test and the interval of the typical turn do not point the same way between {}: no verdict.",
            named(&torn)
        ));
    }
    if !hopeless.is_empty() {
        let most = hopeless.iter().map(|pair| pair.difference.pairs).max().unwrap_or(0);
        say(format!(
            "{most} pairs of runs are too few to show a difference between {}, however large it is.",
            named(&hopeless)
        ));
    }
}

/// Returns the parts that were not compared, with reasons.
fn of_all(analysis: &Analysis) -> Vec<String> {
    let mut said = Vec::new();
    let rivals = analysis.scenario.rivals.iter().filter(|rival| is_rival(rival.product)).count();
    // In cases with trouble, a rival with failures is still compared, by their duration.
    let is_excluded = analysis.scenario.judge.iter().any(|measure| !measure.is_of_trouble());
    for (rival, case, success) in failures(analysis).into_iter().filter(|_| is_excluded) {
        said.push(format!(
            "{rival} answered {success:.1}% of the requests of {case} as expected, and is not compared there."
        ));
    }
    if analysis.pairs.iter().all(|pair| analysis.is_control(pair)) && rivals > 1 {
        said.push(
            "Nothing can be compared: there are no valid runs of two rivals in the same turn.".to_owned(),
        );
    }
    let left_out = analysis.results.rivals.iter().filter(|rival| !rival.left_out.is_empty());
    let left_out: Vec<&str> = left_out.map(|rival| rival.rival.as_str()).collect();
    if !left_out.is_empty() {
        said.push(format!("Left out, for reasons that are listed below: {}.", left_out.join(", ")));
    }
    let invalid = analysis.invalid().count();
    if invalid > 0 {
        let own = analysis.invalid().filter(|run| !run.is_measured()).count();
        said.push(format!(
            "{invalid} of {} runs are invalid ({}), {own} of them by the lab's own fault, and count for nothing; they are listed below. What \
             is said is said of the others only.",
            analysis.results.runs.len(),
            whose(analysis),
        ));
    }
    said
}

/// Returns the finding about two identical set-ups, which shows the reliability of all other findings.
fn control(pair: &Pair) -> Finding {
    let (one, other) = (&pair.one, &pair.other);
    let of = pair.difference.ratio;
    let entry = match pair.standing() {
        Standing::Same => format!("{one} and {other} are the same set-up, and came to the same."),
        Standing::Better | Standing::Worse => format!(
            "{one} and {other} are the same set-up, yet the ratio of the two is {} ({} to {}): differences of that size between others may be the machine's.",
            ratio(of.median),
            ratio(of.low),
            ratio(of.high)
        ),
        Standing::Open => format!(
            "{one} and {other} are the same set-up; their ratio is {} ({} to {}), which shows neither a difference nor that there is none.",
            ratio(of.median),
            ratio(of.low),
            ratio(of.high)
        ),
    };
    let sentence = format!("Control, {}: {entry}", what(pair.measure));
    Finding { measure: Some(pair.measure), sentence, entry: format!("Control: {entry}") }
}

/// Returns the number of invalid runs per rival. A rival with many of them may have lost its worst runs.
fn whose(analysis: &Analysis) -> String {
    let count = |rival: &str| analysis.invalid().filter(|run| run.rival == rival).count();
    let rivals = analysis.scenario.rivals.iter().map(|rival| (&rival.name, count(&rival.name)));
    let some = rivals.filter(|(_, count)| *count > 0).map(|(name, count)| format!("{name} {count}"));
    some.collect::<Vec<_>>().join(", ")
}

/// Formats `a and b, a and c, and 3 other pairs`.
fn named(pairs: &[&Pair]) -> String {
    let names: Vec<String> = pairs.iter().map(|pair| format!("{} and {}", pair.one, pair.other)).collect();
    let shown = names[..names.len().min(NAMED_MAX)].join(", ");
    match names.len().saturating_sub(NAMED_MAX) {
        0 => shown,
        count => format!("{shown}, and in {count} other pairs"),
    }
}

fn what(measure: Measure) -> &'static str {
    match measure {
        Measure::Mean => "mean latency",
        Measure::P50 => "median latency",
        Measure::P99 => "99th percentile of latency",
        Measure::Connect => "time to connect",
        Measure::Waiting => "time to the first byte",
        Measure::Rate => "answers a second",
        Measure::Cpu => "CPU time for each answer",
        Measure::ServerCpu => "CPU time of the servers for each answer",
        Measure::MachineCpu => "CPU time of the whole machine for each answer",
        Measure::Memory => "memory",
        Measure::Servers => "servers that ran",
        Measure::Outage => "longest time without an answer",
        Measure::Answered => "share of requests answered as expected",
        Measure::Recovery => "time from the first failed request to the last",
        Measure::P90 => "90th percentile of latency",
        Measure::P95 => "95th percentile of latency",
        Measure::Max => "longest latency",
        Measure::Deviation => "standard deviation of latency",
        Measure::Success => "success ratio",
        Measure::ServerMemory => "memory of the servers",
        Measure::Session => "time of a connection with its calls",
    }
}

/// Better and worse rival of a pair, with their ratio.
pub(super) struct Winner<'p> {
    pub(super) better: &'p str,
    pub(super) worse: &'p str,
    /// Value of the better rival divided by that of the worse one: low, median and high.
    pub(super) ratio: [f64; 3],
}

impl<'p> Winner<'p> {
    /// Returns the winner of a pair with a difference.
    pub(super) fn of(pair: &'p Pair) -> Self {
        let of = pair.difference.ratio;
        if pair.standing() == Standing::Better {
            Self { better: &pair.one, worse: &pair.other, ratio: [of.low, of.median, of.high] }
        } else {
            let ratio = [of.high, of.median, of.low].map(f64::recip);
            Self { better: &pair.other, worse: &pair.one, ratio }
        }
    }
}

fn better(analysis: &Analysis, pair: &Pair) -> Finding {
    let Winner { better, worse, ratio: [low, median, high] } = Winner::of(pair);
    let said = |of: &str| {
        let mut said = format!(
            "{better} has {} ({} to {}) of {worse}'s{of} ({} pairs of runs, probability {}).",
            ratio(median),
            ratio(low),
            ratio(high),
            pairs(pair),
            probability(pair.adjusted),
        );
        let against = elsewhere(analysis, pair);
        if !against.is_empty() {
            said.push_str(&format!(" It is the other way round in {}.", against.join(", ")));
        }
        said
    };
    let sentence = said(&format!(" {} over all cases", what(pair.measure)));
    Finding { measure: Some(pair.measure), sentence, entry: said("") }
}

/// Returns the cases with a winner that the verdict over all cases does not confirm.
fn elsewhere<'a>(analysis: &'a Analysis, pair: &Pair) -> Vec<&'a str> {
    let is_against = |single: &&Pair| {
        let same = single.measure == pair.measure && single.one == pair.one && single.other == pair.other;
        same && single.case.is_some()
            && !matches!(single.standing(), Standing::Open | Standing::Same)
            && single.standing() != pair.standing()
    };
    analysis.pairs.iter().filter(is_against).filter_map(|single| single.case.as_deref()).collect()
}

/// Returns rivals and cases with missing responses, and the share of expected responses in percent.
fn failures(analysis: &Analysis) -> Vec<(&str, &str, f64)> {
    let rates = analysis.cells.iter().filter(|cell| cell.measure == Measure::Rate && cell.success < 0.99);
    rates.map(|cell| (cell.rival.as_str(), cell.case.as_str(), cell.success * 100.0)).collect()
}
