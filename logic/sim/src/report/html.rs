//! The HTML page of a report: one file without scripts or external resources.

use std::fmt::Write;

use weir_config::simulation::{Measure, SimTime};

use super::chart::{self, Axis, Curve, escaped};
use super::recommendation::percent;
use super::{AlgorithmReport, Figure, PriorityReport, Report};

/// Formats the report as an HTML page.
pub fn html(report: &Report) -> String {
    let mut page = String::from("<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n");
    page.push_str("<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n");
    page.push_str("<title>weir simulate</title>\n<style>\n");
    page.push_str(chart::STYLE);
    // This rule highlights a curve while the pointer is on the algorithm's row.
    for at in 0..report.algorithms.len() {
        let _ = writeln!(page, "body:has(.row{at}:hover) .line{at} {{ stroke-width: 4; opacity: 1; }}");
    }
    page.push_str("</style>\n</head>\n<body>\n<main>\n<h1>Which algorithm, on this traffic?</h1>\n");
    section(&mut page, "verdict", &report.recommendation.text);
    section(&mut page, "notes", &report.notes);
    page.push_str(&table(report));
    page.push_str("<h2>Latency</h2>\n<p class=\"hint\">How many of all requests were answered within which time; each line upwards is a \
                   tenth of the requests that are left. Further left is better.</p>\n");
    page.push_str(&legend(report));
    page.push_str(&latency_chart(report));
    page.push_str("<h2>Requests that wait</h2>\n<p class=\"hint\">At servers and in the balancer, over simulated time; the first seed.</p>\n");
    page.push_str(&queue_chart(report));
    page.push_str(&utilisation(report));
    page.push_str("<h2>What was simulated</h2>\n");
    section(&mut page, "scenario", &report.description);
    let _ = writeln!(
        page,
        "<p class=\"hint\">Seed {}: the same scenario gives the same page. Figures are means over {} seeds; &plusmn; is half of the 95% \
         confidence interval (Student's t): of latencies as a share of the mean, of all else in its own unit.</p>",
        report.scenario.seed, report.scenario.seeds
    );
    page.push_str("</main>\n</body>\n</html>\n");
    page
}

fn section(page: &mut String, class: &str, lines: &[String]) {
    if lines.is_empty() {
        return;
    }
    let _ = writeln!(page, "<div class=\"{class}\">");
    for line in lines {
        let _ = writeln!(page, "<p>{}</p>", escaped(line));
    }
    page.push_str("</div>\n");
}

fn table(report: &Report) -> String {
    let has_cache = report.algorithms.iter().any(|algorithm| algorithm.cache_hit_share.is_some());
    let mut out =
        String::from("<div class=\"scroll\"><table>\n<thead><tr><th></th><th class=\"name\">algorithm</th>");
    for measure in Measure::ALL {
        let class = if measure == report.scenario.rank_by { " class=\"by\"" } else { "" };
        let _ = write!(out, "<th{class}>{}</th>", measure.name());
    }
    out.push_str(
        "<th>in use: least, mean, most</th><th>imbalance</th><th>waiting: mean, most of a run</th><th>errors</th>",
    );
    if has_cache {
        out.push_str("<th>cache hits</th>");
    }
    out.push_str("<th>clients moved</th></tr></thead>\n<tbody>\n");
    for (at, algorithm) in report.algorithms.iter().enumerate() {
        let _ = write!(
            out,
            "<tr class=\"row{at}\"><td>{}</td><td class=\"name\"><i class=\"key {}\"></i>{}</td>",
            algorithm.rank,
            colour(at),
            algorithm.algorithm
        );
        for measure in Measure::ALL {
            let class = if measure == report.scenario.rank_by { " class=\"by\"" } else { "" };
            let _ = write!(out, "<td{class}>{}</td>", time(latency(algorithm, measure)));
        }
        let used = &algorithm.utilisation;
        let _ = write!(
            out,
            "<td>{} {} {}</td><td>{}</td><td>{} &thinsp;{}</td><td>{}</td>",
            share(Some(used.min)),
            share(Some(used.mean)),
            share(Some(used.max)),
            number(algorithm.imbalance, 2),
            number(algorithm.queue_mean, 1),
            number(algorithm.queue_peak, 0),
            if algorithm.error_share.mean == 0.0 {
                "0".to_owned()
            } else {
                share(Some(algorithm.error_share))
            },
        );
        if has_cache {
            let _ = write!(out, "<td>{}</td>", share(algorithm.cache_hit_share));
        }
        let _ = writeln!(out, "<td>{}</td></tr>", share(algorithm.moved_share));
    }
    out.push_str("</tbody>\n</table></div>\n");
    out.push_str(&priorities(report));
    out
}

/// Returns a table with the figures of each priority; empty if there is only one.
fn priorities(report: &Report) -> String {
    let Some(first) = report.algorithms.first().filter(|first| !first.priorities.is_empty()) else {
        return String::new();
    };
    let mut out =
        String::from("<div class=\"scroll\"><table>\n<thead><tr><th class=\"name\">by priority</th>");
    for part in &first.priorities {
        let _ = write!(out, "<th>{}: p50, p99, errors</th>", priority(part));
    }
    out.push_str("</tr></thead>\n<tbody>\n");
    for algorithm in &report.algorithms {
        let _ = write!(out, "<tr><td class=\"name\">{}</td>", algorithm.algorithm);
        for part in &algorithm.priorities {
            let has_errors = part.error_share.mean > 0.0;
            let errors = if has_errors { share(Some(part.error_share)) } else { "0".to_owned() };
            let _ = write!(out, "<td>{} &ensp;{} &ensp;{errors}</td>", time(part.p50_s), time(part.p99_s));
        }
        out.push_str("</tr>\n");
    }
    out.push_str("</tbody>\n</table></div>\n");
    out
}

/// Returns the label of a priority.
fn priority(part: &PriorityReport) -> String {
    match part.offset_ms {
        0 => part.class.to_string(),
        offset_ms => format!("{} (offset {offset_ms} ms)", part.class),
    }
}

fn latency(algorithm: &AlgorithmReport, measure: Measure) -> Figure {
    let latency = &algorithm.latency_s;
    match measure {
        Measure::Mean => latency.mean,
        Measure::P50 => latency.p50,
        Measure::P95 => latency.p95,
        Measure::P99 => latency.p99,
        Measure::P999 => latency.p999,
    }
}

fn time(figure: Figure) -> String {
    let margin = figure
        .margin_share()
        .map_or(String::new(), |share| format!(" <small>&plusmn;{}</small>", percent(share)));
    format!("{}{margin}", SimTime::from_seconds(figure.mean))
}

/// Formats a figure with its margin in the same unit.
fn number(figure: Figure, digits: usize) -> String {
    let margin = figure
        .margin()
        .map_or(String::new(), |margin| format!(" <small>&plusmn;{margin:.*}</small>", digits.max(1)));
    format!("{:.digits$}{margin}", figure.mean)
}

/// Formats a share with its margin in percentage points.
fn share(figure: Option<Figure>) -> String {
    let Some(figure) = figure else { return "&ndash;".to_owned() };
    let text = |share: f64| match share {
        share if share > 0.0 && share < 0.001 => format!("{:.4}%", share * 100.0),
        share => percent(share),
    };
    let margin =
        figure.margin().map_or(String::new(), |margin| format!(" <small>&plusmn;{}</small>", text(margin)));
    format!("{}{margin}", text(figure.mean))
}

/// Number of colours. The best algorithms have their own colour.
const COLOURS: usize = 8;

fn colour(at: usize) -> String {
    if at < COLOURS { format!("c{at}") } else { "rest".to_owned() }
}

fn legend(report: &Report) -> String {
    let mut out = String::from("<p class=\"legend\">");
    for (at, algorithm) in report.algorithms.iter().enumerate() {
        let _ = write!(
            out,
            "<span class=\"row{at}\"><i class=\"key {}\"></i>{}</span> ",
            colour(at),
            algorithm.algorithm
        );
    }
    out.push_str("</p>\n");
    out
}

/// Returns the curves of all algorithms; the best one is drawn last.
fn curves<'r>(report: &'r Report, points: impl Fn(&AlgorithmReport) -> Vec<(f64, f64)>) -> Vec<Curve<'r>> {
    let curve = |(at, algorithm): (usize, &'r AlgorithmReport)| Curve {
        name: algorithm.algorithm.name(),
        class: format!("{} line{at}", colour(at)),
        points: points(algorithm),
    };
    report.algorithms.iter().enumerate().rev().map(curve).collect()
}

/// Highest number of nines shown.
const NINES_MAX: f64 = 4.0;

fn latency_chart(report: &Report) -> String {
    let curves = curves(report, distribution);
    let shown = report.algorithms.iter().take(COLOURS);
    let to = shown.filter_map(|algorithm| algorithm.latencies.quantile(0.9999)).max().unwrap_or(1);
    let starts = report.algorithms.iter().filter_map(|algorithm| algorithm.latencies.quantile(0.02)).min();
    // Shows three decades, in which the curves separate; faster latencies count as equal.
    let from = starts.unwrap_or(1).max(to / 1000).max(1);
    let (from, to) = ((from as f64).log10(), (to.max(from * 2) as f64).log10());
    let mut ticks = Vec::new();
    for decade in from.floor() as i32..=to.ceil() as i32 {
        for factor in [1.0, 2.0, 5.0] {
            let micros: f64 = factor * 10_f64.powi(decade);
            if (from..=to).contains(&micros.log10()) {
                ticks.push((micros.log10(), SimTime::from_seconds(micros / 1e6).to_string()));
            }
        }
    }
    let x = Axis { title: "latency", from, to, ticks };
    let labels =
        [(0.0, "0%"), (0.5, "50%"), (0.9, "90%"), (0.99, "99%"), (0.999, "99.9%"), (0.9999, "99.99%")];
    let y = Axis {
        title: "requests answered",
        from: 0.0,
        to: NINES_MAX,
        ticks: labels.into_iter().map(|(share, text)| (nines(share), text.to_owned())).collect(),
    };
    chart::curves("latency", "Distribution of latencies", &x, &y, &curves)
}

/// Returns the number of nines of a share: 1 for 0.9, 2 for 0.99.
fn nines(share: f64) -> f64 {
    -(1.0 - share).max(1e-9).log10()
}

/// Returns the points of an algorithm's curve: the logarithm of the latency in microseconds, and the nines.
fn distribution(algorithm: &AlgorithmReport) -> Vec<(f64, f64)> {
    let count = algorithm.latencies.count().max(1) as f64;
    let mut below = 0;
    let mut points: Vec<(f64, f64)> = Vec::new();
    for (first, last, counted) in algorithm.latencies.buckets() {
        if points.is_empty() {
            points.push(((first.max(1) as f64).log10(), 0.0));
        }
        below += counted;
        let point = (((last + 1) as f64).log10(), nines(below as f64 / count));
        // A hundredth of a nine is less than a pixel.
        let is_new = points.last().is_none_or(|last| point.1 - last.1 >= 0.01);
        if is_new {
            points.push(point);
        }
        if point.1 > NINES_MAX + 0.5 {
            break;
        }
    }
    points
}

fn queue_chart(report: &Report) -> String {
    let curves = curves(report, |algorithm| algorithm.queue.points().collect());
    let shown = report.algorithms.iter().take(COLOURS);
    let most = shown.flat_map(|algorithm| algorithm.queue.points()).map(|(_, mean)| mean).fold(0.0, f64::max);
    let end = report.algorithms.iter().map(|algorithm| algorithm.queue.seconds()).fold(0.0, f64::max);
    let (x, y) = (Axis::linear("seconds", end), Axis::linear("requests waiting", most * 1.05));
    chart::curves("queue", "Waiting requests over time", &x, &y, &curves)
}

/// Most bars; more servers are combined.
const BARS_MAX: usize = 120;

fn utilisation(report: &Report) -> String {
    let servers = report.scenario.servers() as usize;
    let hint = if servers <= BARS_MAX {
        "Each server's share of time in use, in the scenario's order; full height is 100%.".to_owned()
    } else {
        format!(
            "The {servers} servers' share of time in use, the idlest first, {BARS_MAX} bars; full height is 100%."
        )
    };
    let mut out = format!("<h2>Servers in use</h2>\n<p class=\"hint\">{hint}</p>\n<div class=\"used\">\n");
    for (at, algorithm) in report.algorithms.iter().enumerate() {
        let label = format!("Utilisation with {}", algorithm.algorithm);
        let _ = writeln!(
            out,
            "<span class=\"row{at}\">{}</span>{}",
            algorithm.algorithm,
            chart::bars(&label, &colour(at), &binned(&means(&algorithm.servers)))
        );
    }
    out.push_str("</div>\n");
    out
}

fn means(servers: &[Figure]) -> Vec<f64> {
    servers.iter().map(|server| server.mean).collect()
}

/// Returns the values, or quantiles of them if there are more than [`BARS_MAX`].
fn binned(servers: &[f64]) -> Vec<f64> {
    if servers.len() <= BARS_MAX {
        return servers.to_vec();
    }
    let mut sorted = servers.to_vec();
    sorted.sort_by(f64::total_cmp);
    (0..BARS_MAX).map(|bar| sorted[(bar * (sorted.len() - 1)) / (BARS_MAX - 1)]).collect()
}
