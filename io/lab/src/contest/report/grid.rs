//! Table of winners and their advantage.

use super::super::analysis::{Analysis, Pair, Standing};
use super::document::Table;
use super::tables::percent;
use super::verdict::Winner;

/// Number of rows above which undecided pairs are left out.
const ROWS_MAX: usize = 24;

/// Returns a table with a row per pair of rivals and a column per measure, over all cases. `None` = no rivals
/// are compared.
pub(super) fn grid(analysis: &Analysis) -> Option<Table> {
    let overall: Vec<&Pair> = analysis.pairs.iter().filter(|pair| pair.case.is_none()).collect();
    let mut who: Vec<(&str, &str)> = Vec::new();
    for pair in &overall {
        let names = (pair.one.as_str(), pair.other.as_str());
        if !who.contains(&names) {
            who.push(names);
        }
    }
    let judge = &analysis.scenario.judge;
    let found = |names: &(&str, &str), measure| {
        let mut pairs = overall.iter().copied();
        pairs.find(|pair| (pair.one.as_str(), pair.other.as_str()) == *names && pair.measure == measure)
    };
    let of = |names: &(&str, &str)| judge.iter().map(|measure| found(names, *measure)).collect::<Vec<_>>();
    let rows = who.len();
    let is_open =
        |names: &(&str, &str)| of(names).into_iter().flatten().all(|pair| pair.standing() == Standing::Open);
    who.retain(|names| rows <= ROWS_MAX || !is_open(names));
    let row = |names: &(&str, &str)| {
        let pairs = of(names);
        let is_control = pairs.iter().flatten().any(|pair| analysis.is_control(pair));
        let control = if is_control { ": the same set-up twice" } else { "" };
        let cells = pairs.into_iter().map(|pair| pair.map_or_else(|| "-".to_owned(), cell));
        std::iter::once(format!("{} / {}{control}", names.0, names.1)).chain(cells).collect()
    };
    let mut table = Table {
        head: std::iter::once("over all cases")
            .chain(judge.iter().map(|measure| measure.title()))
            .map(str::to_owned)
            .collect(),
        rows: who.iter().map(row).collect(),
    };
    if who.len() < rows {
        let rest = format!("{} other pairs", rows - who.len());
        table.rows.push(std::iter::once(rest).chain(judge.iter().map(|_| "undecided".to_owned())).collect());
    }
    (rows > 0).then_some(table)
}

fn cell(pair: &Pair) -> String {
    match pair.standing() {
        Standing::Better | Standing::Worse => {
            let Winner { better, ratio: [low, median, high], .. } = Winner::of(pair);
            format!("{better}: {} ({})", change(median), range(low, high))
        }
        Standing::Same => format!("the same within {}", percent(pair.margin)),
        Standing::Open if pair.is_hopeless() => "too few runs".to_owned(),
        Standing::Open if pair.is_torn() => "no verdict".to_owned(),
        Standing::Open if pair.is_small() => {
            format!("undecided (they differ, maybe by less than {})", percent(pair.margin))
        }
        Standing::Open => "undecided (may be chance)".to_owned(),
    }
}

/// Formats a ratio as `20% less` or `25% more`, from 2 on as a multiple.
fn change(ratio: f64) -> String {
    match ratio {
        ratio if ratio >= 2.0 => format!("{ratio:.1} times as much"),
        ratio if ratio >= 1.0 => format!("{:.0}% more", (ratio - 1.0) * 100.0),
        ratio => format!("{:.0}% less", (1.0 - ratio) * 100.0),
    }
}

/// Formats a range, with the smaller change first.
fn range(low: f64, high: f64) -> String {
    let (near, far) = if low < 1.0 { (high, low) } else { (low, high) };
    format!("{} to {}", change(near), change(far)).replacen("% less to", "% to", 1).replacen(
        "% more to",
        "% to",
        1,
    )
}
