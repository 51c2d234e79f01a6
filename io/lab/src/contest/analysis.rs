//! What may be said of results. The unit is the run; what is invalid says nothing.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use weir_config::Source;
use weir_config::lab::{self, Measure, Product, Rival, Scenario};
use weir_stats::compare::{
    Difference, Estimate, Outcome, SIGNIFICANT, compare_paired, holm, least_paired, least_ranked,
    mann_whitney, median,
};

use super::store::{Played, Results};

/// Results, and what follows from them.
#[derive(Debug)]
pub struct Analysis {
    /// What was played, as the file says.
    pub scenario: Scenario,
    /// What came of it.
    pub results: Results,
    /// Medians, of each case, rival and measure that has values.
    pub cells: Vec<Cell>,
    /// Comparisons by what the scenario judges by.
    pub pairs: Vec<Pair>,
    /// What the machine did meanwhile.
    pub noise: Noise,
}

/// A figure of a table.
#[derive(Debug, Clone, PartialEq)]
pub struct Cell {
    /// Which case.
    pub case: String,
    /// Whose.
    pub rival: String,
    /// Which figure.
    pub measure: Measure,
    /// Median over repeats.
    pub estimate: Estimate,
    /// Of so many valid runs.
    pub runs: usize,
    /// Share of the requests that were answered as expected.
    pub success: f64,
}

/// Two that are compared.
#[derive(Debug, Clone, PartialEq)]
pub struct Pair {
    /// By which figure.
    pub measure: Measure,
    /// In which case; `None` = over all of them.
    pub case: Option<String>,
    /// Whose figure is divided ...
    pub one: String,
    /// ... by whose.
    pub other: String,
    /// By how much they differ.
    pub difference: Difference,
    /// A difference that does not matter, or that the machine's noise may have made: 0.05 = 5 percent.
    pub margin: f64,
    /// What is left of its probability, as one of many (Holm).
    pub adjusted: f64,
    /// The least that could be left of it with so many runs, however large the difference.
    pub least: f64,
    /// Pairs of runs that there would be if every run were valid and had answers.
    pub planned: usize,
}

/// What a comparison comes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// The first is better.
    Better,
    /// The other is.
    Worse,
    /// Whatever difference there is, it does not matter.
    Same,
    /// Chance may have made the difference, or it may be too little to matter or not.
    Open,
}

/// How steady the machine was.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Noise {
    /// The fixed piece of work took so much longer in the slowest run than in the median one: 0.1 = a tenth.
    pub worst: f64,
    /// Runs in which it took over a fifth longer.
    pub slow_runs: usize,
    /// The second half of the time was slower by so much, beyond chance; `None` = it was not.
    pub drift: Option<f64>,
    /// Half of the runs lie within so much of each other, to either side: half the interquartile range, divided by the median.
    pub spread: f64,
}

impl Noise {
    /// A difference in speed that is not larger may be the machine's: 0.05 = 5 percent.
    pub fn floor(&self) -> f64 {
        rounded_up(self.drift.map_or(0.0, f64::abs).max(self.spread))
    }
}

/// With fewer answers as expected, who is fast may only be quick to refuse.
pub(super) const SUCCESS_MIN: f64 = 0.99;

impl Pair {
    /// What it comes to.
    pub fn standing(&self) -> Standing {
        match (self.difference.outcome(self.adjusted, self.margin), self.measure.is_more_better()) {
            (Outcome::Undecided, _) => Standing::Open,
            (Outcome::Equivalent, _) => Standing::Same,
            (Outcome::Less, false) | (Outcome::More, true) => Standing::Better,
            (Outcome::Less, true) | (Outcome::More, false) => Standing::Worse,
        }
    }

    /// There is a difference beyond chance, and it may be too little to matter.
    pub fn is_small(&self) -> bool {
        self.standing() == Standing::Open && self.adjusted < SIGNIFICANT && !self.is_torn()
    }

    /// Chance is ruled out, but the test, the typical pair and its interval do not say the same: no verdict rests on that.
    pub fn is_torn(&self) -> bool {
        self.adjusted < SIGNIFICANT && self.difference.direction() == Ordering::Equal
    }

    /// With so few runs no difference could be shown, however large.
    pub fn is_hopeless(&self) -> bool {
        self.least >= SIGNIFICANT
    }
}

impl Analysis {
    /// Of what a file holds.
    ///
    /// # Errors
    /// The scenario in it is none.
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

    /// A figure.
    pub fn cell(&self, case: &str, rival: &str, measure: Measure) -> Option<&Cell> {
        self.cells.iter().find(|cell| cell.case == case && cell.rival == rival && cell.measure == measure)
    }

    /// A difference of this figure that does not matter, or that the machine's noise may have made.
    pub fn margin_of(&self, measure: Measure) -> f64 {
        let pairs = self.pairs.iter().filter(|pair| pair.measure == measure && !self.is_control(pair));
        pairs.map(|pair| pair.margin).fold(self.scenario.margin_of(measure), f64::max)
    }

    /// No balancer, twice.
    pub fn is_control(&self, pair: &Pair) -> bool {
        let mut rivals = self.scenario.rivals.iter();
        rivals.any(|rival| rival.name == pair.one && rival.product == Product::None)
    }

    /// Runs that say nothing.
    pub fn invalid(&self) -> impl Iterator<Item = &Played> {
        self.results.runs.iter().filter(|run| !run.is_valid())
    }
}

/// Valid figures by case, rival and measure, each with its repeat.
struct Values<'r> {
    /// Of repeats: which, the figure, and the share of answers as expected.
    figures: BTreeMap<&'r str, BTreeMap<&'r str, OfRival>>,
}

/// By the measure's name.
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

    /// Of repeats in which both have a figure, and have answered.
    fn shared(&self, case: &str, one: &str, other: &str, measure: Measure) -> (Vec<f64>, Vec<f64>) {
        // Of who fails while something is lost it is asked how much, and for how long.
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

/// Every two rivals, over all cases and in each. What is over all is one family of questions, what is in single cases another.
fn pairs(scenario: &Scenario, values: &Values<'_>, measure: Measure, noise: &Noise) -> Vec<Pair> {
    let (mut overall, mut single) = (Vec::new(), Vec::new());
    // No balancer and itself: a control, whose questions are none of the others' family.
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
    // A verdict claims no less than the noise: of the machine, and between two set-ups that are the same.
    let of_machine = if measure.is_of_speed() { noise.floor() } else { 0.0 };
    let of_control = control.iter().filter(|pair| pair.case.is_none()).filter_map(apart).fold(0.0, f64::max);
    for pair in overall.iter_mut().chain(&mut single) {
        pair.margin = pair.margin.max(of_machine).max(rounded_up(of_control));
    }
    overall.append(&mut single);
    overall.append(&mut control);
    overall
}

/// By how much two differ, if it is said that they do.
fn apart(pair: &Pair) -> Option<f64> {
    let ratio = pair.difference.ratio.median;
    matches!(pair.standing(), Standing::Better | Standing::Worse).then(|| ratio.max(ratio.recip()) - 1.0)
}

/// Whether anybody asks who of the two is better.
fn is_asked(one: &Rival, other: &Rival) -> bool {
    match (one.product, other.product) {
        // The same set-up twice: what is found between them would be found between any two.
        (Product::None, Product::None) => one.way == other.way,
        // Without a balancer is no rival of balancers: it shows what they cost.
        (Product::None, _) | (_, Product::None) => false,
        // What differs in product and algorithm both compares nothing.
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
        // Where it is the only one that differs, it is compared with all of them.
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

/// To a tenth of a percent, for people.
fn rounded_up(share: f64) -> f64 {
    (share * 1_000.0).ceil() / 1_000.0
}

/// Half the interquartile range.
fn spread(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    let at =
        |quarter: usize| values.get(values.len().saturating_sub(1) * quarter / 4).copied().unwrap_or(0.0);
    (at(3) - at(1)) / 2.0
}
