//! The tables of a report.

use std::collections::BTreeMap;

use weir_config::lab::{Measure, Product, Rival};
use weir_stats::compare::{Estimate, median};

use super::super::analysis::{Analysis, Cell, Pair, SUCCESS_MIN, Standing};
use super::super::store::{Growth, Losses};
use super::document::Table;
use crate::judge;

/// Returns a table with rivals as rows and cases as columns. Published figures of others are below. `None` =
/// no rival has a value.
pub(super) fn measure(analysis: &Analysis, measure: Measure) -> Option<Table> {
    let scenario = &analysis.scenario;
    let mut table = Table { head: head(analysis, "rival"), rows: Vec::new() };
    for rival in &scenario.rivals {
        let cells: Vec<String> = scenario
            .cases
            .iter()
            .map(|case| match analysis.cell(&case.name, &rival.name, measure) {
                Some(cell) => survivors(cell, scenario.repeats),
                None => "-".to_owned(),
            })
            .collect();
        if cells.iter().any(|cell| cell != "-") {
            table.rows.push([vec![shown(rival)], cells].concat());
        }
    }
    if table.rows.is_empty() {
        return None;
    }
    table.rows.extend(published(analysis, measure, false, short));
    Some(table)
}

/// Returns a row per publication with values of this measure, in its unit or in percent of the best.
fn published(
    analysis: &Analysis,
    measure: Measure,
    is_percent: bool,
    write: fn(f64) -> String,
) -> Vec<Vec<String>> {
    let scenario = &analysis.scenario;
    let mut published: BTreeMap<&str, BTreeMap<&str, f64>> = BTreeMap::new();
    for one in &scenario.published {
        if (one.measure, one.is_percent) == (measure, is_percent) {
            for (name, value) in &one.values {
                published.entry(name).or_default().insert(&one.case, *value);
            }
        }
    }
    let row = |(name, values): (&str, BTreeMap<&str, f64>)| {
        let cells = scenario
            .cases
            .iter()
            .map(|case| values.get(case.name.as_str()).map_or("-".to_owned(), |it| write(*it)));
        let cells: Vec<String> = cells.collect();
        // A quick form may contain none of the published cases.
        let has_some = cells.iter().any(|cell| cell != "-");
        has_some.then(|| [vec![format!("published: {name}")], cells].concat())
    };
    published.into_iter().filter_map(row).collect()
}

/// Formats a value with its number of valid runs and its share of expected responses, if they are incomplete.
fn survivors(cell: &Cell, repeats: u32) -> String {
    let mut said = estimate(&cell.estimate);
    if cell.success < 1.0 {
        // Rounds down, so that an incomplete share never appears as 100%. The sum of shares may be wrong in
        // its last digits.
        let share = (cell.success * 1e4 + 1e-6).floor() / 100.0;
        said.push_str(&format!(", of {share}% answered"));
    }
    if cell.runs < repeats as usize {
        said.push_str(&format!(", {} of {repeats} runs", cell.runs));
    }
    said
}

/// Returns each median in percent of the best of its case.
pub(super) fn relative(analysis: &Analysis, measure: Measure) -> Table {
    let scenario = &analysis.scenario;
    let mut table = Table { head: head(analysis, "rival"), rows: Vec::new() };
    for rival in &scenario.rivals {
        let cells = scenario.cases.iter().map(|case| {
            let share = percent_of_the_best(analysis, measure, &case.name, &rival.name);
            share.map_or("-".to_owned(), |share| format!("{share:.0}%"))
        });
        let cells: Vec<String> = cells.collect();
        if cells.iter().any(|cell| cell != "-") {
            table.rows.push([vec![shown(rival)], cells].concat());
        }
    }
    if !table.rows.is_empty() {
        table.rows.extend(published(analysis, measure, true, |share| format!("{share:.0}%")));
    }
    table
}

/// Returns a median in percent of the best of its case; `None` if a percentage has no meaning. A rival with
/// too few expected responses is not compared.
pub(super) fn percent_of_the_best(
    analysis: &Analysis,
    measure: Measure,
    case: &str,
    rival: &str,
) -> Option<f64> {
    let middle = |rival: &str| {
        let cell = analysis.cell(case, rival, measure)?;
        let is_whole = cell.success >= SUCCESS_MIN || measure.is_of_trouble();
        (cell.estimate.median > 0.0 && is_whole).then_some(cell.estimate.median)
    };
    let all = analysis.scenario.rivals.iter().filter_map(|rival| middle(&rival.name));
    let best = if measure.is_more_better() { all.reduce(f64::max) } else { all.reduce(f64::min) };
    Some(middle(rival)? / best? * 100.0)
}

/// Returns a table of the comparisons that `is_wanted` selects.
pub(super) fn comparisons(analysis: &Analysis, is_wanted: impl Fn(&&Pair) -> bool) -> Table {
    let row = |pair: &Pair| {
        let said = match pair.standing() {
            Standing::Better => format!("{} is better", pair.one),
            Standing::Worse => format!("{} is better", pair.other),
            Standing::Same => format!("no difference over {}", percent(pair.margin)),
            Standing::Open if pair.is_hopeless() => "too few runs to say".to_owned(),
            Standing::Open if pair.is_torn() => "median and test disagree".to_owned(),
            Standing::Open if pair.is_small() => format!("may be less than {}", percent(pair.margin)),
            Standing::Open => "may be chance".to_owned(),
        };
        vec![
            pair.measure.name().to_owned(),
            pair.case.clone().unwrap_or_else(|| "all".to_owned()),
            format!("{} / {}", pair.one, pair.other),
            ratios(&pair.difference.ratio),
            pairs(pair),
            probability(pair.adjusted),
            said,
        ]
    };
    let head = ["figure", "case", "who", "ratio", "pairs", "probability", "says"].map(str::to_owned).to_vec();
    Table { head, rows: analysis.pairs.iter().filter(is_wanted).map(row).collect() }
}

/// Returns a table of requests and bytes, in total and per server.
pub(super) fn answers(analysis: &Analysis) -> Table {
    let mut table = Table {
        head: [
            "case",
            "rival",
            "runs",
            "sent",
            "as expected",
            "failures lasted",
            "requests of each server",
            "bytes of each server",
        ]
        .map(str::to_owned)
        .to_vec(),
        rows: Vec::new(),
    };
    for case in &analysis.scenario.cases {
        for rival in &analysis.scenario.rivals {
            let runs = analysis.results.runs.iter();
            let own: Vec<_> = runs
                .filter(|run| run.case == case.name && run.rival == rival.name && run.is_valid())
                .collect();
            if own.is_empty() {
                continue;
            }
            let mut servers: BTreeMap<&str, (u64, u64)> = BTreeMap::new();
            for (name, requests, bytes) in own.iter().flat_map(|run| &run.servers) {
                let sums = servers.entry(name).or_default();
                *sums = (sums.0 + requests, sums.1 + bytes);
            }
            let each = |of: fn(&(u64, u64)) -> u64| {
                let shown: Vec<String> =
                    servers.iter().map(|(name, sums)| format!("{name} {}", of(sums))).collect();
                shown.join(", ")
            };
            let (sent, succeeded) = own
                .iter()
                .fold((0, 0), |(sent, succeeded), run| (sent + run.sent, succeeded + run.succeeded));
            table.rows.push(vec![
                case.name.clone(),
                rival.name.clone(),
                own.len().to_string(),
                sent.to_string(),
                format!("{succeeded} ({})", judge::percent(succeeded, sent)),
                median(&own.iter().filter_map(|run| run.failures_lasted_s).collect::<Vec<_>>())
                    .map_or("-".to_owned(), |seconds| format!("{seconds:.1} s")),
                each(|(requests, _)| *requests),
                each(|(_, bytes)| *bytes),
            ]);
        }
    }
    table
}

/// Returns a table of TCP retransmissions, full listener queues, and resets.
pub(super) fn losses(analysis: &Analysis) -> Table {
    let head = ["case", "rival", "network", "segments sent", "sent again", "listener's queue full", "resets"];
    let row = |of: &Losses| {
        let network = of.source.trim_end_matches("-tcp").to_owned();
        let again = format!("{} ({})", of.sent_again, judge::percent(of.sent_again as u64, of.sent as u64));
        let counts = [of.sent.to_string(), again, of.overflows.to_string(), of.resets.to_string()];
        [vec![of.case.clone(), of.rival.clone(), network], counts.to_vec()].concat()
    };
    Table { head: head.map(str::to_owned).to_vec(), rows: analysis.results.losses.iter().map(row).collect() }
}

/// Returns a table of the growth of counters from further monitors.
pub(super) fn growth(analysis: &Analysis) -> Table {
    let head = ["case", "rival", "monitor", "of", "figure", "grew in a run by"];
    let row = |of: &Growth| {
        let names = [&of.case, &of.rival, &of.source, &of.subject, &of.figure].map(String::clone).to_vec();
        [names, vec![short(of.mean)]].concat()
    };
    Table { head: head.map(str::to_owned).to_vec(), rows: analysis.results.growth.iter().map(row).collect() }
}

fn head(analysis: &Analysis, first: &str) -> Vec<String> {
    std::iter::once(first.to_owned())
        .chain(analysis.scenario.cases.iter().map(|case| case.name.clone()))
        .collect()
}

/// Formats `1.25 (1.20 to 1.31)`, or `1.25 (range 1.20 to 1.31)` if there are too few values for a confidence
/// interval.
pub(super) fn estimate(estimate: &Estimate) -> String {
    let range = if estimate.is_range() { "range " } else { "" };
    format!("{} ({range}{} to {})", short(estimate.median), short(estimate.low), short(estimate.high))
}

/// Formats ratios like [`estimate`].
fn ratios(estimate: &Estimate) -> String {
    let range = if estimate.is_range() { "range " } else { "" };
    format!("{} ({range}{} to {})", ratio(estimate.median), ratio(estimate.low), ratio(estimate.high))
}

/// Formats the number of compared pairs of runs, and the planned number if it is larger.
pub(super) fn pairs(pair: &Pair) -> String {
    match (pair.difference.pairs, pair.planned) {
        (own, planned) if own < planned => format!("{own} of {planned}"),
        (own, _) => own.to_string(),
    }
}

/// Formats a number with three or four digits.
pub(super) fn short(value: f64) -> String {
    match value.abs() {
        size if size >= 1_000.0 => format!("{value:.0}"),
        size if size >= 100.0 => format!("{value:.1}"),
        size if size >= 1.0 || value == 0.0 => format!("{value:.2}"),
        _ => format!("{value:.4}"),
    }
}

/// Formats a ratio with two decimals, or with three if it is close to 1.
pub(super) fn ratio(value: f64) -> String {
    if (0.99..1.01).contains(&value) { format!("{value:.3}") } else { format!("{value:.2}") }
}

/// Formats a margin as `5%` or `0.1%`.
pub(super) fn percent(share: f64) -> String {
    // Removes the error of binary fractions, such as in 0.07 * 100.
    format!("{}%", (share * 1e6).round() / 1e4)
}

pub(super) fn probability(probability: f64) -> String {
    if probability < 0.001 { "< 0.1%".to_owned() } else { format!("{:.1}%", probability * 100.0) }
}

/// Returns the name of a rival in a table, with a note if it is no balancer.
fn shown(rival: &Rival) -> String {
    if is_rival(rival.product) { rival.name.clone() } else { format!("{} (no balancer)", rival.name) }
}

/// Returns true if the product is compared with others.
pub(super) fn is_rival(product: Product) -> bool {
    product != Product::None
}
