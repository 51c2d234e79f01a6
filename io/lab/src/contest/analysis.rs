//! Statistical analysis of results. The unit is the run; invalid runs do not count.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use weir_config::Source;
use weir_config::lab::{self, Measure, Product, Rival, Scenario};
use weir_stats::compare::{
    Difference, Estimate, Outcome, SIGNIFICANT, compare_paired, holm, least_paired, least_ranked,
    mann_whitney, median,
};

use super::store::{Played, Results};

/// Results with their statistics.
#[derive(Debug)]
pub struct Analysis {
    /// Scenario, as stored in the file.
    pub scenario: Scenario,
    /// Results of the file.
    pub results: Results,
    /// Medians for each case, rival and measure that has values.
    pub cells: Vec<Cell>,
    /// Comparisons by the measures of the scenario's `judge`.
    pub pairs: Vec<Pair>,
    /// Noise of the machine.
    pub noise: Noise,
}

/// One value of a table.
#[derive(Debug, Clone, PartialEq)]
pub struct Cell {
    /// Name of the case.
    pub case: String,
    /// Name of the rival.
    pub rival: String,
    /// Measure of the value.
    pub measure: Measure,
    /// Median over repeats.
    pub estimate: Estimate,
    /// Number of valid runs.
    pub runs: usize,
    /// Share of the requests with the expected response.
    pub success: f64,
}

/// Comparison of two rivals.
#[derive(Debug, Clone, PartialEq)]
pub struct Pair {
    /// Measure of the comparison.
    pub measure: Measure,
    /// Name of the case; `None` = over all cases.
    pub case: Option<String>,
    /// Rival whose value is the numerator of the ratio.
    pub one: String,
    /// Rival whose value is the denominator of the ratio.
    pub other: String,
    /// Difference between the two.
    pub difference: Difference,
    /// Difference that does not matter or that the machine's noise may have caused: 0.05 = 5 percent.
    pub margin: f64,
    /// P-value after Holm's correction for multiple comparisons.
    pub adjusted: f64,
    /// Lowest corrected p-value that is possible with this number of runs, however large the difference.
    pub least: f64,
    /// Number of pairs of runs if every run were valid and had responses.
    pub planned: usize,
}

/// Outcome of a comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// The first rival is better.
    Better,
    /// The second rival is better.
    Worse,
    /// A difference, if any, does not matter.
    Same,
    /// Undecided: the difference may be due to chance, or it is unclear if it matters.
    Open,
}

/// Stability of the machine.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Noise {
    /// Excess time of the fixed piece of work in the slowest run, relative to the median run: 0.1 = a tenth.
    pub worst: f64,
    /// Number of runs in which the fixed piece of work took over a fifth longer.
    pub slow_runs: usize,
    /// Slowdown in the second half of the runs (negative: speedup), if it is significant and over 2 percent.
    pub drift: Option<f64>,
    /// Half the interquartile range of the fixed piece of work, divided by its median.
    pub spread: f64,
}

impl Noise {
    /// Returns the difference in speed up to which the machine may be the cause: 0.05 = 5 percent.
    pub fn floor(&self) -> f64 {
        rounded_up(self.drift.map_or(0.0, f64::abs).max(self.spread))
    }
}

/// Minimum share of expected responses. Below it, a rival may be fast only because it refuses requests
/// quickly.
pub(super) const SUCCESS_MIN: f64 = 0.99;

impl Pair {
    /// Returns the outcome of the comparison.
    pub fn standing(&self) -> Standing {
        match (self.difference.outcome(self.adjusted, self.margin), self.measure.is_more_better()) {
            (Outcome::Undecided, _) => Standing::Open,
            (Outcome::Equivalent, _) => Standing::Same,
            (Outcome::Less, false) | (Outcome::More, true) => Standing::Better,
            (Outcome::Less, true) | (Outcome::More, false) => Standing::Worse,
        }
    }

    /// Returns true if there is a significant difference that may be too small to matter.
    pub fn is_small(&self) -> bool {
        self.standing() == Standing::Open && self.adjusted < SIGNIFICANT && !self.is_torn()
    }

    /// Returns true if the difference is significant, but the test, the median and its interval contradict
    /// each other. Such a pair gets no verdict.
    pub fn is_torn(&self) -> bool {
        self.adjusted < SIGNIFICANT && self.difference.direction() == Ordering::Equal
    }

    /// Returns true if there are too few runs to show any difference, however large.
    pub fn is_hopeless(&self) -> bool {
        self.least >= SIGNIFICANT
    }
}

impl Analysis {
    /// Analyzes the content of a file.
    ///
    /// # Errors
    /// If the stored scenario is invalid.
    pub fn of(results: Results) -> Result<Self, String> {
        let text = results.meta.get("scenario").ok_or("the file has no scenario")?;
        let name = results.meta.get("name").map_or("scenario", String::as_str);
        let quick = results.meta.get("form").is_some_and(|form| form == "quick");
        let scenario = lab::load(&Source::new(name, text.clone()), quick, &|name| std::env::var(name).ok())
            .map_err(|errors| errors.first().map_or_else(String::new, ToString::to_string))?;
        let values = Values::of(&results);
        let cells = cells(&scenario, &values);
        let noise = noise(&results.runs);
        let pairs = scenario.judge.iter().flat_map(|measure| pairs(&scenario, &values, *measure, &noise));
        let pairs = pairs.collect();
        Ok(Self { scenario, results, cells, pairs, noise })
    }

    /// Returns a value of a table.
    pub fn cell(&self, case: &str, rival: &str, measure: Measure) -> Option<&Cell> {
        self.cells.iter().find(|cell| cell.case == case && cell.rival == rival && cell.measure == measure)
    }

    /// Returns the difference of a measure that does not matter or that the machine's noise may have caused.
    pub fn margin_of(&self, measure: Measure) -> f64 {
        let pairs = self.pairs.iter().filter(|pair| pair.measure == measure && !self.is_control(pair));
        pairs.map(|pair| pair.margin).fold(self.scenario.margin_of(measure), f64::max)
    }

    /// Returns true if the pair compares two set-ups without a balancer.
    pub fn is_control(&self, pair: &Pair) -> bool {
        let mut rivals = self.scenario.rivals.iter();
        rivals.any(|rival| rival.name == pair.one && rival.product == Product::None)
    }

    /// Returns the invalid runs.
    pub fn invalid(&self) -> impl Iterator<Item = &Played> {
        self.results.runs.iter().filter(|run| !run.is_valid())
    }
}

/// Values of valid runs by case and rival.
struct Values<'r> {
    /// Repeat, value, and share of expected responses.
    figures: BTreeMap<&'r str, BTreeMap<&'r str, OfRival>>,
}

/// Values by the name of the measure.
type OfRival = BTreeMap<&'static str, Vec<(u32, f64, f64)>>;

impl<'r> Values<'r> {
    fn of(results: &'r Results) -> Self {
        let mut figures: BTreeMap<_, BTreeMap<_, OfRival>> = BTreeMap::new();
        for run in results.runs.iter().filter(|run| run.is_valid()) {
            let success = run.succeeded as f64 / run.sent.max(1) as f64;
            for (measure, value) in &run.figures {
                let of_case = figures.entry(run.case.as_str()).or_default();
                let of_rival = of_case.entry(run.rival.as_str()).or_default();
                of_rival.entry(measure.name()).or_default().push((run.repeat, *value, success));
            }
        }
        Self { figures }
    }

    fn get(&self, case: &str, rival: &str, measure: Measure) -> &[(u32, f64, f64)] {
        let of_rival = self.figures.get(case).and_then(|of_case| of_case.get(rival));
        of_rival.and_then(|figures| figures.get(measure.name())).map_or(&[], Vec::as_slice)
    }

    /// Returns the values of repeats in which both rivals have a value and enough expected responses.
    fn shared(&self, case: &str, one: &str, other: &str, measure: Measure) -> (Vec<f64>, Vec<f64>) {
        // In cases with trouble, failures are expected, and the amount and duration of failures are the
        // measures.
        let success_min = if measure.is_of_trouble() { 0.0 } else { SUCCESS_MIN };
        let others: BTreeMap<u32, f64> = answered(self.get(case, other, measure), success_min).collect();
        answered(self.get(case, one, measure), success_min)
            .filter_map(|(repeat, value)| Some((value, *others.get(&repeat)?)))
            .unzip()
    }
}

fn answered(values: &[(u32, f64, f64)], success_min: f64) -> impl Iterator<Item = (u32, f64)> + '_ {
    values
        .iter()
        .filter(move |(_, _, success)| *success >= success_min)
        .map(|(repeat, value, _)| (*repeat, *value))
}

fn cells(scenario: &Scenario, values: &Values<'_>) -> Vec<Cell> {
    let mut cells = Vec::new();
    for case in &scenario.cases {
        for rival in &scenario.rivals {
            for measure in Measure::ALL {
                let found = values.get(&case.name, &rival.name, measure);
                let figures: Vec<f64> = found.iter().map(|(_, value, _)| *value).collect();
                let success =
                    found.iter().map(|(_, _, success)| success).sum::<f64>() / found.len().max(1) as f64;
                cells.extend(Estimate::of(&figures, scenario.seed).map(|estimate| Cell {
                    case: case.name.clone(),
                    rival: rival.name.clone(),
                    measure,
                    estimate,
                    runs: figures.len(),
                    success,
                }));
            }
        }
    }
    cells
}

/// Compares every two rivals, over all cases and in each case. The comparisons over all cases are one family
/// for Holm's correction, those in single cases are another.
fn pairs(scenario: &Scenario, values: &Values<'_>, measure: Measure, noise: &Noise) -> Vec<Pair> {
    let (mut overall, mut single) = (Vec::new(), Vec::new());
    // Comparison of no balancer with itself: a control, which belongs to neither family.
    let mut control = Vec::new();
    for (at, one) in scenario.rivals.iter().enumerate() {
        for other in scenario.rivals[at + 1..].iter().filter(|other| is_asked(one, other)) {
            let (mut all_ones, mut all_others) = (Vec::new(), Vec::new());
            for case in &scenario.cases {
                let (ones, others) = values.shared(&case.name, &one.name, &other.name, measure);
                if let Some(mut difference) = compare_paired(&ones, &others, scenario.seed) {
                    difference.evidence = mann_whitney(&ones, &others);
                    let family = if one.product == Product::None { &mut control } else { &mut single };
                    family.push(Pair {
                        case: Some(case.name.clone()),
                        least: least_ranked(ones.len(), others.len()),
                        planned: scenario.repeats as usize,
                        ..pair(scenario, measure, (one, other), difference)
                    });
                }
                all_ones.extend(ones);
                all_others.extend(others);
            }
            let difference = compare_paired(&all_ones, &all_others, scenario.seed);
            let family = if one.product == Product::None { &mut control } else { &mut overall };
            family.extend(difference.map(|difference| Pair {
                least: least_paired(difference.pairs),
                planned: scenario.repeats as usize * scenario.cases.len(),
                ..pair(scenario, measure, (one, other), difference)
            }));
        }
    }
    adjust(&mut overall);
    adjust(&mut single);
    adjust(&mut control);
    // The margin is at least the noise of the machine, and the difference between two identical set-ups.
    let of_machine = if measure.is_of_speed() { noise.floor() } else { 0.0 };
    let of_control = control.iter().filter(|pair| pair.case.is_none()).filter_map(apart).fold(0.0, f64::max);
    for pair in overall.iter_mut().chain(&mut single) {
        pair.margin = pair.margin.max(of_machine).max(rounded_up(of_control));
    }
    overall.append(&mut single);
    overall.append(&mut control);
    overall
}

/// Returns the size of the difference, if the outcome is that the two differ.
fn apart(pair: &Pair) -> Option<f64> {
    let ratio = pair.difference.ratio.median;
    matches!(pair.standing(), Standing::Better | Standing::Worse).then(|| ratio.max(ratio.recip()) - 1.0)
}

/// Returns true if the two rivals are compared.
fn is_asked(one: &Rival, other: &Rival) -> bool {
    match (one.product, other.product) {
        // Two identical set-ups. A difference between them could occur between any two rivals.
        (Product::None, Product::None) => one.way == other.way,
        // A set-up without a balancer is no rival of a balancer. It shows the cost of balancers.
        (Product::None, _) | (_, Product::None) => false,
        // Rivals that differ in both product and algorithm are not comparable.
        _ => one.product == other.product || one.scheme == other.scheme,
    }
}

fn pair(
    scenario: &Scenario,
    measure: Measure,
    (one, other): (&Rival, &Rival),
    difference: Difference,
) -> Pair {
    Pair {
        measure,
        case: None,
        one: one.name.clone(),
        other: other.name.clone(),
        difference,
        margin: scenario.margin_of(measure),
        adjusted: 1.0,
        least: 1.0,
        planned: 0,
    }
}

fn adjust(pairs: &mut [Pair]) {
    let own: Vec<f64> = pairs.iter().map(|pair| pair.difference.evidence.probability).collect();
    let family = own.len() as f64;
    for (pair, adjusted) in pairs.iter_mut().zip(holm(&own)) {
        // If only this pair is significant, Holm's correction multiplies its p-value by the size of the
        // family.
        (pair.adjusted, pair.least) = (adjusted, (pair.least * family).min(1.0));
    }
}

fn noise(runs: &[Played]) -> Noise {
    let work: Vec<f64> = runs.iter().map(|run| run.calibration_ns as f64).collect();
    let Some(usual) = median(&work).filter(|usual| *usual > 0.0) else { return Noise::default() };
    let slowest = work.iter().copied().fold(usual, f64::max);
    let (early, late) = work.split_at(work.len() / 2);
    let drift = match (median(early), median(late)) {
        (Some(before), Some(after))
            if before > 0.0 && mann_whitney(early, late).probability < SIGNIFICANT =>
        {
            Some(after / before - 1.0)
        }
        _ => None,
    };
    Noise {
        worst: slowest / usual - 1.0,
        slow_runs: work.iter().filter(|work| **work > usual * 1.2).count(),
        drift: drift.filter(|drift| drift.abs() > 0.02),
        spread: spread(work) / usual,
    }
}

/// Rounds up to a tenth of a percent, for people.
fn rounded_up(share: f64) -> f64 {
    (share * 1_000.0).ceil() / 1_000.0
}

/// Returns half the interquartile range.
fn spread(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    let at =
        |quarter: usize| values.get(values.len().saturating_sub(1) * quarter / 4).copied().unwrap_or(0.0);
    (at(3) - at(1)) / 2.0
}
