//! Renders the report of a simulation for the terminal.

use weir_config::simulation::SimTime;
use weir_control::Tone;
use weir_sim::{AlgorithmReport, Figure, PriorityReport, Report};

use crate::ctl::table::{Align, Cell, Style, Table, printable};

/// Renders the description of the scenario, the tables, and the recommendation.
pub(super) fn render(report: &Report, style: Style) -> String {
    let mut out = String::new();
    for line in &report.description {
        out.push_str(&printable(line));
        out.push('\n');
    }
    out.push('\n');
    out.push_str(&table(report).render("", style));
    out.push('\n');
    if let Some(servers) = servers(report) {
        out.push_str(&servers.render("", style));
        out.push('\n');
    }
    if let Some(priorities) = priorities(report) {
        out.push_str(&priorities.render("", style));
        out.push('\n');
    }
    for (at, line) in report.recommendation.text.iter().enumerate() {
        out.push_str(&if at == 0 { style.bold(line) } else { line.clone() });
        out.push('\n');
    }
    for note in &report.notes {
        out.push_str(&printable(note));
        out.push('\n');
    }
    out
}

fn table(report: &Report) -> Table {
    let has = |value: fn(&AlgorithmReport) -> bool| report.algorithms.iter().any(value);
    let has_errors = has(|algorithm| algorithm.error_share.mean > 0.0);
    let has_cache = has(|algorithm| algorithm.cache_hit_share.is_some());
    let mut columns = vec![
        ("#", Align::Right),
        ("ALGORITHM", Align::Left),
        ("P50", Align::Right),
        ("P95", Align::Right),
        ("P99", Align::Right),
        ("P99.9", Align::Right),
        ("IN USE", Align::Right),
        ("IMBAL", Align::Right),
        ("WAITING", Align::Right),
        ("MOVED", Align::Right),
    ];
    if has_errors {
        columns.push(("ERRORS", Align::Right));
    }
    if has_cache {
        columns.push(("HITS", Align::Right));
    }
    let mut table = Table::new(&columns);
    for algorithm in &report.algorithms {
        let latency = &algorithm.latency_s;
        let used = &algorithm.utilisation;
        let mut cells: Vec<Cell> = vec![
            algorithm.rank.to_string().into(),
            name(report, algorithm),
            time(latency.p50),
            time(latency.p95),
            time(latency.p99),
            time(latency.p999),
            format!(
                "{:.0}-{:.0}-{:.0}%{}",
                used.min.mean * 100.0,
                used.mean.mean * 100.0,
                used.max.mean * 100.0,
                points(used.mean)
            )
            .into(),
            format!("{:.2}{}", algorithm.imbalance.mean, margin(algorithm.imbalance)).into(),
            format!(
                "{}{} / {}",
                short(algorithm.queue_mean.mean),
                margin(algorithm.queue_mean),
                algorithm.queue_max
            )
            .into(),
            share(algorithm.moved_share),
        ];
        if has_errors {
            let mut errors = share(Some(algorithm.error_share));
            errors.text.push_str(&points(algorithm.error_share));
            let is_bad = algorithm.error_share.mean > 0.0;
            cells.push(if is_bad { Cell::toned(errors.text, Tone::Bad) } else { errors });
        }
        if has_cache {
            cells.push(share(algorithm.cache_hit_share));
        }
        table.row(cells);
    }
    table
}

/// Limits of the table: with more servers it shows each group, and with more groups nothing. JSON and the
/// HTML page have every server.
const SERVERS_MAX: usize = 24;
const GROUPS_MAX: usize = 12;

/// Renders the utilization of each server, in the scenario's order.
fn servers(report: &Report) -> Option<Table> {
    let groups = &report.scenario.groups;
    let has_each = report.scenario.servers() <= SERVERS_MAX as u64;
    if !has_each && groups.len() > GROUPS_MAX {
        return None;
    }
    let heading =
        if has_each { "IN USE, EACH SERVER, %" } else { "IN USE, LEAST-MEAN-MOST OF EACH GROUP, %" };
    let mut table = Table::new(&[("ALGORITHM", Align::Left), (heading, Align::Left)]);
    // With a pool's config each server is a group.
    let between = if groups.iter().all(|group| group.count == 1) { " " } else { " / " };
    for algorithm in &report.algorithms {
        let mut rest = algorithm.servers.as_slice();
        let mut of_group = |count: u32| {
            let (own, others) = rest.split_at_checked(count as usize).unwrap_or((rest, &[]));
            rest = others;
            let own: Vec<f64> = own.iter().map(|server| server.mean).collect();
            if has_each { each(&own) } else { summed_up(&own) }
        };
        let used: Vec<String> = groups.iter().map(|group| of_group(group.count)).collect();
        table.row(vec![algorithm.algorithm.name().into(), used.join(between).into()]);
    }
    Some(table)
}

/// Renders the results of each priority, if there are several.
fn priorities(report: &Report) -> Option<Table> {
    report.algorithms.first().filter(|first| !first.priorities.is_empty())?;
    let mut table =
        Table::new(&[("ALGORITHM", Align::Left), ("P50, P99, ERRORS OF EACH PRIORITY", Align::Left)]);
    for algorithm in &report.algorithms {
        let told: Vec<String> = algorithm.priorities.iter().map(priority).collect();
        table.row(vec![algorithm.algorithm.name().into(), told.join(" / ").into()]);
    }
    Some(table)
}

fn priority(part: &PriorityReport) -> String {
    let offset = match part.offset_ms {
        0 => String::new(),
        offset_ms => format!(" ({offset_ms:+} ms)"),
    };
    let (p50, p99, errors) = (time(part.p50_s), time(part.p99_s), share(Some(part.error_share)));
    format!("{}{offset}: {}, {}, {}", part.class, p50.text, p99.text, errors.text)
}

fn each(used: &[f64]) -> String {
    used.iter().map(|share| format!("{:.0}", share * 100.0)).collect::<Vec<_>>().join(" ")
}

fn summed_up(used: &[f64]) -> String {
    let least = used.iter().copied().fold(f64::INFINITY, f64::min);
    let mean = used.iter().sum::<f64>() / used.len().max(1) as f64;
    let most = used.iter().copied().fold(0.0, f64::max);
    format!("{:.0}-{:.0}-{:.0}", least * 100.0, mean * 100.0, most * 100.0)
}

/// Returns the name of an algorithm. Marks the winner and the algorithms that tie with it.
fn name(report: &Report, algorithm: &AlgorithmReport) -> Cell {
    let name = algorithm.algorithm.name();
    let recommendation = &report.recommendation;
    let is_best =
        recommendation.winner == algorithm.algorithm || recommendation.ties.contains(&algorithm.algorithm);
    if is_best { Cell::toned(name, Tone::Good) } else { name.into() }
}

fn time(figure: Figure) -> Cell {
    format!("{}{}", SimTime::from_seconds(figure.mean), margin(figure)).into()
}

/// Renders the margin of error as a share of the mean.
fn margin(figure: Figure) -> String {
    figure.margin_share().map_or(String::new(), |share| match share * 100.0 {
        percent if percent < 1.0 => " ±<1%".to_owned(),
        percent => format!(" ±{percent:.0}%"),
    })
}

/// Renders the margin of error of a share, in percentage points.
fn points(figure: Figure) -> String {
    figure.margin().filter(|_| figure.mean > 0.0).map_or(String::new(), |margin| match margin * 100.0 {
        points if points < 0.1 => " ±<0.1".to_owned(),
        points => format!(" ±{points:.1}"),
    })
}

fn share(figure: Option<Figure>) -> Cell {
    match figure {
        None => "-".into(),
        Some(figure) if figure.mean == 0.0 => "0".into(),
        Some(figure) if figure.mean < 0.001 => "<0.1%".into(),
        Some(figure) => format!("{:.1}%", figure.mean * 100.0).into(),
    }
}

fn short(value: f64) -> String {
    if value >= 100.0 { format!("{value:.0}") } else { format!("{value:.1}") }
}
