//! The HTML page of a fleet comparison: one file without scripts or external resources.

use std::fmt::Write;

use super::report::{FleetReport, PolicyReport};
use super::run::Point;
use crate::report::Figure;
use crate::report::chart::{self, Axis, Curve, STYLE, escaped};

/// Formats the report as an HTML page.
pub fn fleet_html(report: &FleetReport) -> String {
    let mut page = String::from("<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n");
    page.push_str("<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n");
    page.push_str("<title>weir fleet backtest</title>\n<style>\n");
    page.push_str(STYLE);
    page.push_str("</style>\n</head>\n<body>\n<main>\n<h1>Which policy, on this demand?</h1>\n<div class=\"verdict\">\n");
    for line in &report.verdict {
        // Writing to a string cannot fail, here and below.
        let _ = writeln!(page, "<p>{}</p>", escaped(line));
    }
    page.push_str("</div>\n");
    page.push_str(&table(report));
    page.push_str(
        "<h2>Demand</h2>\n<p class=\"hint\">Requests per second; the first seed, as all curves.</p>\n",
    );
    page.push_str(&demand_chart(report));
    for (at, policy) in report.policies.iter().enumerate() {
        let name = escaped(&policy.name);
        let _ = writeln!(
            page,
            "<h2>Servers with {name}</h2>\n<p class=\"legend\"><span><i class=\"key c0\"></i>wanted</span>\
             <span><i class=\"key c1\"></i>running</span><span><i class=\"key c2\"></i>taking requests</span></p>"
        );
        page.push_str(&servers_chart(at, policy));
    }
    page.push_str("<h2>What the last in the queue waits</h2>\n");
    page.push_str(&wait_chart(report));
    let world = &report.world;
    let _ = writeln!(
        page,
        "<h2>What was simulated</h2>\n<p class=\"hint\">{}: {} s, {:.1}/s on average, {:.1}/s at most. A server does {}/s, takes {} s to start \
         (woken: {} s, each &plusmn;{:.0}%) and {} s to drain. {} seeds from {}; &plusmn; is half of the 95% confidence interval.</p>\n\
         </main>\n</body>\n</html>",
        escaped(&report.demand),
        report.seconds,
        report.mean_per_s,
        report.peak_per_s,
        world.capacity_per_s,
        world.start_up_s,
        world.wake_up_s,
        world.start_spread * 100.0,
        world.drain_s,
        report.seeds,
        report.seed,
    );
    page
}

fn table(report: &FleetReport) -> String {
    let mut out = String::from(
        "<div class=\"scroll\"><table>\n<thead><tr><th class=\"name\">policy</th><th>server-minutes</th><th>overloaded seconds</th>\
         <th>seconds with waiting</th><th>refused</th><th>changes</th><th>most servers</th><th>cost</th><th>kWh</th></tr></thead>\n<tbody>\n",
    );
    for (at, policy) in report.policies.iter().enumerate() {
        let _ = writeln!(
            out,
            "<tr><td class=\"name\"><i class=\"key {}\"></i>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{:.2}%</td><td>{}</td><td>{}</td>\
             <td>{}</td><td>{}</td></tr>",
            colour(at),
            escaped(&policy.name),
            figure(policy.server_minutes),
            figure(policy.overloaded_s),
            figure(policy.waited_s),
            policy.refused_share.mean * 100.0,
            figure(policy.changes),
            policy.servers_max,
            figure(policy.cost),
            figure(policy.energy_kwh),
        );
    }
    out.push_str("</tbody>\n</table></div>\n");
    out
}

fn figure(figure: Figure) -> String {
    let margin = match (figure.low, figure.high) {
        (Some(low), Some(high)) => format!(" <small>&plusmn;{:.2}</small>", (high - low) / 2.0),
        _ => String::new(),
    };
    format!("{:.2}{margin}", figure.mean)
}

fn colour(at: usize) -> String {
    if at < 8 { format!("c{at}") } else { "rest".to_owned() }
}

fn curve<'n>(name: &'n str, class: String, points: &[Point], value: fn(&Point) -> f64) -> Curve<'n> {
    Curve { name, class, points: points.iter().map(|point| (point.at_s / 60.0, value(point))).collect() }
}

fn most(points: &[Point], value: fn(&Point) -> f64) -> f64 {
    points.iter().map(value).fold(0.0, f64::max)
}

fn minutes(points: &[Point]) -> Axis {
    Axis::linear("minutes", most(points, |point| point.at_s / 60.0))
}

fn demand_chart(report: &FleetReport) -> String {
    let points = report.policies.first().map_or(&[][..], PolicyReport::points);
    let value: fn(&Point) -> f64 = |point| point.rate_per_s;
    let y = Axis::linear("requests per second", most(points, value) * 1.05);
    chart::curves(
        "demand",
        "Demand over time",
        &minutes(points),
        &y,
        &[curve("demand", "c0".to_owned(), points, value)],
    )
}

fn servers_chart(at: usize, policy: &PolicyReport) -> String {
    let points = policy.points();
    let y = Axis::linear("servers", most(points, |point| point.running.max(point.wanted)) * 1.05);
    let curves = [
        curve("running", "c1".to_owned(), points, |point| point.running),
        curve("taking requests", "c2".to_owned(), points, |point| point.serving),
        curve("wanted", "c0".to_owned(), points, |point| point.wanted),
    ];
    chart::curves(&format!("servers{at}"), "Servers over time", &minutes(points), &y, &curves)
}

fn wait_chart(report: &FleetReport) -> String {
    let names: Vec<String> = report.policies.iter().map(|policy| escaped(&policy.name)).collect();
    let all = || report.policies.iter().map(PolicyReport::points);
    let value: fn(&Point) -> f64 = |point| point.wait_s;
    let curves: Vec<Curve<'_>> = all()
        .zip(&names)
        .enumerate()
        .rev()
        .map(|(at, (points, name))| curve(name, colour(at), points, value))
        .collect();
    let x = minutes(all().next().unwrap_or(&[]));
    let y = Axis::linear("seconds", all().map(|points| most(points, value)).fold(0.0, f64::max) * 1.05);
    chart::curves("wait", "Waiting time over time", &x, &y, &curves)
}
