//! The plots of a report.

use std::fmt::Write;

use serde_json::Value;
use weir_config::lab::{Measure, Rival};
use weir_sim::chart::{self, Axis, Curve, escaped};
use weir_stats::compare::median;

use super::super::analysis::Analysis;
use super::super::store::CpuCurve;
use super::tables::{self, short};

const WIDTH: f64 = 960.0;
const HEIGHT: f64 = 300.0;
const LEFT: f64 = 64.0;
const BOTTOM: f64 = 36.0;
const TOP: f64 = 14.0;

/// Number of colors.
const COLOURS: usize = 12;
/// Maximum number of plots of one kind. More would be of no use.
pub(super) const PLOTS_MAX: usize = 12;

/// Returns true if a case has a plot: the first and the last one, and others at even distances.
fn is_drawn(number: usize, count: usize) -> bool {
    count <= PLOTS_MAX || (0..PLOTS_MAX).any(|plot| plot * (count - 1) / (PLOTS_MAX - 1) == number)
}

fn colour(at: usize) -> String {
    format!("c{}", at % COLOURS)
}

/// Returns a legend of names with the numbers of their colors.
fn legend<'n>(names: impl Iterator<Item = (usize, &'n str)>) -> String {
    let entry = |(at, name): (usize, &str)| {
        format!("<span><i class=\"key {}\"></i>{}</span> ", colour(at), escaped(name))
    };
    format!("<p class=\"legend\">{}</p>\n", names.map(entry).collect::<String>())
}

/// Returns the number of a rival's color, which is the same in all plots.
fn number_of(analysis: &Analysis, rival: &str) -> Option<usize> {
    analysis.scenario.rivals.iter().position(|other| other.name == rival)
}

/// Content of a bar.
struct Bar {
    value: f64,
    /// Interval of the median, drawn on top of the bar.
    interval: Option<(f64, f64)>,
}

/// Draws a bar per case and rival, with its interval on top.
pub(super) fn bars(analysis: &Analysis, measure: Measure) -> String {
    let bar = |case: &str, rival: &str| {
        let estimate = analysis.cell(case, rival, measure)?.estimate;
        Some(Bar { value: estimate.median, interval: Some((estimate.low, estimate.high)) })
    };
    drawn(analysis, measure.title(), "", bar)
}

/// Draws a bar per case and rival: its median in percent of the best of the case.
pub(super) fn bars_of_the_best(analysis: &Analysis, measure: Measure) -> String {
    let bar = |case: &str, rival: &str| {
        let value = tables::percent_of_the_best(analysis, measure, case, rival)?;
        Some(Bar { value, interval: None })
    };
    drawn(analysis, &format!("In percent of the best: {}", measure.name()), "%", bar)
}

/// Draws bars in groups, one group per case. `label` is the text for readers who do not see the plot.
fn drawn(analysis: &Analysis, label: &str, unit: &str, bar_of: impl Fn(&str, &str) -> Option<Bar>) -> String {
    let scenario = &analysis.scenario;
    let names: Vec<&str> = scenario.rivals.iter().map(|rival| rival.name.as_str()).collect();
    let mut most = 0.0_f64;
    for case in &scenario.cases {
        let own = names.iter().filter_map(|name| bar_of(&case.name, name));
        most = own.map(|bar| bar.interval.map_or(bar.value, |(_, high)| high)).fold(most, f64::max);
    }
    let axis = Axis::to_a_tick("", most);
    let at_y = |value: f64| HEIGHT - BOTTOM - (value / axis.to).clamp(0.0, 1.0) * (HEIGHT - BOTTOM - TOP);
    let mut svg = format!(
        "{}<svg class=\"chart\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" aria-label=\"{}\">\n",
        legend(names.iter().copied().enumerate()),
        escaped(label)
    );
    // Writing into a string cannot fail, here and below.
    for (value, text) in &axis.ticks {
        let at = at_y(*value);
        let _ = writeln!(
            svg,
            "<path class=\"grid\" d=\"M{LEFT} {at:.1}H{WIDTH}\"/><text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{text}{unit}</text>",
            LEFT - 8.0,
            at + 4.0
        );
    }
    let group = (WIDTH - LEFT) / scenario.cases.len().max(1) as f64;
    let bar = group * 0.8 / names.len().max(1) as f64;
    for (at, case) in scenario.cases.iter().enumerate() {
        let from = LEFT + at as f64 * group;
        let _ = writeln!(
            svg,
            "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>",
            from + group / 2.0,
            HEIGHT - 12.0,
            escaped(&case.name)
        );
        for (place, name) in names.iter().enumerate() {
            let Some(Bar { value, interval }) = bar_of(&case.name, name) else { continue };
            let x = from + group * 0.1 + place as f64 * bar;
            let (y, middle) = (at_y(value), x + bar * 0.45);
            let _ = writeln!(
                svg,
                "<g class=\"{}\"><title>{}: {}{unit}</title><rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"{:.1}\" height=\"{:.1}\" fill=\"currentColor\"/></g>",
                colour(place),
                escaped(name),
                short(value),
                bar * 0.9,
                (HEIGHT - BOTTOM - y).max(0.5),
            );
            if let Some((low, high)) = interval {
                let _ = writeln!(
                    svg,
                    "<path class=\"grid\" style=\"stroke: var(--text)\" d=\"M{middle:.1} {:.1}V{:.1}\"/>",
                    at_y(low),
                    at_y(high)
                );
            }
        }
    }
    svg.push_str("</svg>\n");
    svg
}

/// Draws the processors that the balancer used, a plot per case.
pub(super) fn cpu_over_time(analysis: &Analysis) -> Vec<(String, String)> {
    let of_case = |case: &str| {
        let curves = analysis.results.cpu.iter().filter(|curve| curve.case == case);
        curves.map(|curve| (curve.rival.as_str(), curve.points.clone())).collect::<Vec<_>>()
    };
    plots(analysis, "cpu", "processors used", of_case)
}

/// Draws the processors that all servers together used, a plot per case.
pub(super) fn server_cpu_over_time(analysis: &Analysis) -> Vec<(String, String)> {
    let of_case = |case: &str| {
        let curves = analysis.results.server_cpu.iter().filter(|curve| curve.case == case);
        curves.map(|curve| (curve.rival.as_str(), curve.points.clone())).collect::<Vec<_>>()
    };
    plots(analysis, "server-cpu", "processors used by servers", of_case)
}

/// Draws the number of running servers, a plot per case.
pub(super) fn servers_over_time(analysis: &Analysis) -> Vec<(String, String)> {
    let of_case = |case: &str| {
        let is_it = |(figure, curve): &&(&str, CpuCurve)| *figure == "running" && curve.case == case;
        let curves = analysis.results.fleet.iter().filter(is_it);
        curves.map(|(_, curve)| (curve.rival.as_str(), curve.points.clone())).collect::<Vec<_>>()
    };
    plots(analysis, "servers", "servers", of_case)
}

/// Draws the demand of a fleet and its servers, a plot per fleet and case. The rate is in servers, by the
/// capacity of one server.
pub(super) fn fleets_over_time(analysis: &Analysis) -> Vec<(String, String)> {
    const CURVES: [(&str, &str); 4] = [
        ("rate_per_s", "rate, in servers"),
        ("needed", "needed"),
        ("running", "running"),
        ("in_use", "in use by the balancer"),
    ];
    let rivals = analysis.scenario.rivals.iter().enumerate();
    let fleets = rivals.filter_map(|(at, rival)| Some((at, rival, rival.fleet.as_ref()?.capacity)));
    let of_fleet = |(at, rival, capacity): (usize, &Rival, f64)| {
        let of_case = |case: &str| {
            let curve = |(figure, name): &(&str, &'static str)| {
                let is_it = |(own, curve): &&(&'static str, CpuCurve)| {
                    own == figure && curve.case == case && curve.rival == rival.name
                };
                let (_, curve) = analysis.results.fleet.iter().find(is_it)?;
                let unit = if *figure == "rate_per_s" { capacity } else { 1.0 };
                Some((*name, curve.points.iter().map(|(x, y)| (*x, y / unit)).collect()))
            };
            CURVES.iter().filter_map(curve).collect::<Vec<_>>()
        };
        let plots = plots(analysis, &format!("fleet{at}-"), "servers", of_case).into_iter();
        plots.map(|(case, plot)| (format!("{}, {case}", rival.name), plot)).collect::<Vec<_>>()
    };
    fleets.flat_map(of_fleet).collect()
}

/// Draws median latencies, a plot per case. For each rival, shows the run whose mean is in the middle.
pub(super) fn latency_over_time(analysis: &Analysis) -> Vec<(String, String)> {
    let of_case = |case: &str| {
        let rivals = analysis.scenario.rivals.iter();
        rivals
            .filter_map(|rival| Some((rival.name.as_str(), moments(analysis, case, &rival.name)?)))
            .collect::<Vec<_>>()
    };
    plots(analysis, "latency", "latency, ms", of_case)
}

fn plots<'a>(
    analysis: &'a Analysis,
    id: &str,
    title: &'static str,
    of_case: impl Fn(&'a str) -> Vec<(&'a str, Vec<(f64, f64)>)>,
) -> Vec<(String, String)> {
    let mut plots = Vec::new();
    let cases = analysis.scenario.cases.iter().enumerate();
    let count = analysis.scenario.cases.len();
    for (number, case) in cases.filter(|(number, _)| is_drawn(*number, count)) {
        let found: Vec<_> = of_case(&case.name).into_iter().filter(|(_, points)| points.len() > 1).collect();
        if found.is_empty() {
            continue;
        }
        let all = || found.iter().flat_map(|(_, points)| points);
        let (x_to, y_to) = all().fold((0.0_f64, 0.0_f64), |(x, y), point| (x.max(point.0), y.max(point.1)));
        let names: Vec<&str> = found.iter().map(|(name, _)| *name).collect();
        let shown: Vec<String> = names.iter().map(|name| escaped(name)).collect();
        // The curves of a fleet are not named after rivals.
        let of = |(at, name): (usize, &&str)| number_of(analysis, name).unwrap_or(at);
        let numbers: Vec<usize> = names.iter().enumerate().map(of).collect();
        let curves: Vec<Curve<'_>> = found
            .iter()
            .zip(&shown)
            .zip(&numbers)
            .map(|(((_, points), name), at)| Curve { name, class: colour(*at), points: points.clone() })
            .collect();
        let (x, y) = (Axis::linear("seconds", x_to), Axis::to_a_tick(title, y_to));
        let chart = chart::curves(&format!("{id}{number}"), title, &x, &y, &curves);
        plots.push((case.name.clone(), format!("{}{chart}", legend(numbers.iter().copied().zip(names)))));
    }
    plots
}

/// Returns times in seconds and median latencies in milliseconds, of the valid run whose mean is in the
/// middle.
fn moments(analysis: &Analysis, case: &str, rival: &str) -> Option<Vec<(f64, f64)>> {
    let mean = |run: &super::super::store::Played| {
        run.figures.iter().find(|(measure, _)| *measure == Measure::Mean).map(|(_, value)| *value)
    };
    let runs = analysis.results.runs.iter();
    let own: Vec<_> = runs.filter(|run| run.case == case && run.rival == rival && run.is_valid()).collect();
    let middle = median(&own.iter().filter_map(|run| mean(run)).collect::<Vec<_>>())?;
    let distance =
        |run: &super::super::store::Played| mean(run).map_or(f64::INFINITY, |mean| (mean - middle).abs());
    let run = own.into_iter().min_by(|a, b| distance(a).total_cmp(&distance(b)))?;
    let summary: Value = serde_json::from_str(&run.summary).ok()?;
    let point = |moment: &Value| Some((moment["at_s"].as_f64()?, moment["p50_us"].as_f64()? / 1_000.0));
    Some(summary["moments"].as_array()?.iter().filter_map(point).collect())
}
