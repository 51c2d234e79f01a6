//! Writes the report of a run as one HTML page that fetches nothing. Its pictures need no scripts. If scripts
//! run, [`curves`] replaces the pictures with interactive plots.

use std::fmt::Write;

use weir_sim::chart::{self, Axis, Curve, escaped};
use weir_stats::NanosHistogram;

use super::curves::{self, framed};
use super::text::{describe, size};
use crate::judge::percent;
use crate::summary::{Run, Summary, Times, Uploads};
use crate::units::{number, time};
use crate::windows::Moment;

/// Returns a run as an HTML page.
pub fn html(run: &Run) -> String {
    let summary = run.summary();
    let mut page = String::from("<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n");
    page.push_str("<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n");
    page.push_str("<title>weir load</title>\n<style>\n");
    page.push_str(chart::STYLE);
    page.push_str(STYLE);
    page.push_str(&curves::style());
    page.push_str("</style>\n</head>\n<body>\n<main>\n<h1>weir load</h1>\n<div class=\"scenario\">\n");
    for line in describe(&run.head).lines() {
        // Writing into a string cannot fail, here and below.
        let _ = writeln!(page, "<p>{}</p>", escaped(line));
    }
    page.push_str("</div>\n");
    verdict(&mut page, &summary);
    figures(&mut page, run, &summary);
    page.push_str(curves::HINT);
    page.push_str("<h2>Latency over time</h2>\n<p class=\"hint\">Of the requests that were due at each moment, from when they were due to their last byte.</p>\n");
    let names = legend(&[("50%", "c0"), ("99%", "c1"), ("longest", "c3")]);
    page.push_str(&framed("latency", &(names + &latency_over_time(&summary.moments))));
    page.push_str("<h2>Rate over time</h2>\n");
    let names = legend(&[("due", "rest"), ("answered", "c0"), ("failed", "c3")]);
    page.push_str(&framed("rate", &(names + &rate_over_time(&summary.moments))));
    page.push_str("<h2>Percentiles</h2>\n<p class=\"hint\">How many of all requests were answered within which time; each line upwards is a tenth of the requests that are left. Where the two curves part, a generator that waits for answers would not have seen what users see.</p>\n");
    let names = legend(&[("from when due", "c0"), ("from when sent", "c1")]);
    page.push_str(&framed("percentiles", &(names + &percentiles(run))));
    page.push_str("<h2>Histogram</h2>\n<p class=\"hint\">How often each latency occurred, from when due; the scale is logarithmic.</p>\n");
    page.push_str(&framed("histogram", &histogram(&run.tally.all.latency)));
    page.push_str(&times_table(&summary));
    parts(&mut page, &summary);
    page.push_str("</main>\n");
    page.push_str(&curves::script(run, &summary));
    page.push_str("</body>\n</html>\n");
    page
}

const STYLE: &str = ".invalid { border-color: #c2185b; }\n.verdict li { font-weight: 400; }\n";

fn verdict(page: &mut String, summary: &Summary) {
    if let Some(failed) = &summary.server_failed {
        let _ = writeln!(
            page,
            "<div class=\"verdict invalid\"><p>The server failed: {}.</p></div>",
            escaped(failed)
        );
    }
    if let Some(failures) = &summary.tolerated_failures {
        let _ =
            writeln!(page, "<div class=\"verdict\"><p>Tolerated failures: {}.</p></div>", escaped(failures));
    }
    if summary.valid && summary.marks.is_empty() {
        page.push_str("<div class=\"verdict\"><p>Valid: the schedule was kept, and the generator had something to spare.</p></div>\n");
        return;
    }
    if summary.valid {
        page.push_str("<div class=\"verdict\"><p>Valid but late, which was accepted.</p>\n<ul>\n");
        for mark in &summary.marks {
            let _ = writeln!(page, "<li>{}</li>", escaped(&mark.text));
        }
        page.push_str("</ul></div>\n");
        return;
    }
    page.push_str(
        "<div class=\"verdict invalid\"><p>Invalid: these figures say nothing about the server.</p>\n<ul>\n",
    );
    for flaw in &summary.flaws {
        let _ = writeln!(page, "<li>{}</li>", escaped(&flaw.text));
    }
    page.push_str("</ul></div>\n");
}

fn figures(page: &mut String, run: &Run, summary: &Summary) {
    let requests = &summary.requests;
    page.push_str("<div class=\"scroll\"><table>\n<thead><tr><th>sent</th><th>answered</th><th>as expected</th><th>sent/s</th><th>answered/s</th><th>bodies/s</th>");
    if run.head.mode.has_schedule() {
        page.push_str("<th>over 1 ms late</th>");
    }
    if summary.uploads.is_some() {
        page.push_str("<th>uploads verified</th><th>not verified</th>");
    }
    let _ = write!(
        page,
        "</tr></thead>\n<tbody><tr><td>{}</td><td>{}</td><td>{} ({})</td><td>{}</td><td>{}</td><td>{}</td>",
        requests.sent,
        requests.answered,
        requests.succeeded,
        percent(requests.succeeded, requests.sent),
        number(requests.sent_per_s),
        number(requests.answered_per_s),
        size(summary.bytes.in_per_s),
    );
    if run.head.mode.has_schedule() {
        let _ = write!(page, "<td>{} ({})</td>", requests.late, percent(requests.late, requests.sent));
    }
    if let Some(Uploads { verified, unverified }) = summary.uploads {
        let _ = write!(page, "<td>{verified}</td><td>{unverified}</td>");
    }
    page.push_str("</tr></tbody>\n</table></div>\n");
}

fn legend(entries: &[(&str, &str)]) -> String {
    let mut out = String::from("<p class=\"legend\">");
    for (name, class) in entries {
        let _ = write!(out, "<span><i class=\"key {class}\"></i>{name}</span> ");
    }
    out.push_str("</p>\n");
    out
}

/// Returns a logarithmic time axis from `from` to `to`, in nanoseconds.
fn time_axis(title: &'static str, from: u64, to: u64) -> Axis {
    let from = (from.max(1) as f64).log10().floor();
    let to = (to.max(10) as f64).log10().max(from + 0.3);
    let mut ticks = Vec::new();
    for decade in from as i32..=to.ceil() as i32 {
        for factor in [1.0, 2.0, 5.0] {
            let ns: f64 = factor * 10_f64.powi(decade);
            if (from..=to).contains(&ns.log10()) {
                ticks.push((ns.log10(), time(ns as u64)));
            }
        }
    }
    Axis { title, from, to, ticks }
}

fn end_of(moments: &[Moment]) -> f64 {
    let width = moments.get(1).map_or(0.1, |second| second.at_s);
    moments.last().map_or(1.0, |last| last.at_s + width)
}

fn latency_over_time(moments: &[Moment]) -> String {
    let width = moments.get(1).map_or(0.1, |second| second.at_s);
    let points = |value: fn(&Moment) -> Option<u64>| {
        let at = |moment: &Moment| {
            // The middle of the interval. At least one microsecond, because zero has no logarithm.
            value(moment).map(|us| (moment.at_s + width / 2.0, ((us.max(1) * 1_000) as f64).log10()))
        };
        moments.iter().filter_map(at).collect::<Vec<_>>()
    };
    let most = moments.iter().filter_map(|moment| moment.max_us).max().unwrap_or(1_000);
    let least = moments.iter().filter_map(|moment| moment.p50_us).min().unwrap_or(1);
    let curve = |name, class: &str, value| Curve { name, class: class.to_owned(), points: points(value) };
    let curves = [
        curve("longest", "c3", |moment| moment.max_us),
        curve("99%", "c1", |moment| moment.p99_us),
        curve("50%", "c0", |moment| moment.p50_us),
    ];
    let y = time_axis("latency", least.max(1) * 1_000, most.max(1) * 1_100);
    chart::curves("latency", "Latency over time", &Axis::linear("seconds", end_of(moments)), &y, &curves)
}

fn rate_over_time(moments: &[Moment]) -> String {
    let width = moments.get(1).map_or(0.1, |second| second.at_s);
    let points = |value: &dyn Fn(&Moment) -> f64| {
        moments.iter().map(|moment| (moment.at_s + width / 2.0, value(moment))).collect::<Vec<_>>()
    };
    let most = moments.iter().map(|moment| moment.due_per_s.max(moment.answered_per_s)).fold(0.0, f64::max);
    let curve = |name, class: &str, value: &dyn Fn(&Moment) -> f64| Curve {
        name,
        class: class.to_owned(),
        points: points(value),
    };
    let curves = [
        curve("due", "rest", &|moment| moment.due_per_s),
        curve("failed", "c3", &|moment| moment.failed as f64 / width),
        curve("answered", "c0", &|moment| moment.answered_per_s),
    ];
    let (x, y) = (Axis::linear("seconds", end_of(moments)), Axis::linear("requests/s", most * 1.05));
    chart::curves("rate", "Rate over time", &x, &y, &curves)
}

/// Maximum number of nines on the axis.
const NINES_MAX: f64 = 5.0;

fn percentiles(run: &Run) -> String {
    let (latency, raw) = (&run.tally.all.latency, &run.tally.raw);
    let points = |histogram: &NanosHistogram| {
        let mut seen = 0;
        let total = histogram.count().max(1) as f64;
        let point = |(low, high, count): (u64, u64, u64)| {
            seen += count;
            let left = (1.0 - seen as f64 / total).max(10_f64.powf(-NINES_MAX));
            ((low.midpoint(high).max(1) as f64).log10(), -left.log10())
        };
        histogram.buckets().map(point).collect::<Vec<_>>()
    };
    let x = time_axis("latency", latency.min_ns().min(raw.min_ns()), latency.max_ns().max(raw.max_ns()));
    let labels = [
        (0.0, "0%"),
        (std::f64::consts::LOG10_2, "50%"),
        (1.0, "90%"),
        (2.0, "99%"),
        (3.0, "99.9%"),
        (4.0, "99.99%"),
        (5.0, "99.999%"),
    ];
    let y = Axis {
        title: "requests answered",
        from: 0.0,
        to: NINES_MAX,
        ticks: labels.into_iter().map(|(at, text)| (at, text.to_owned())).collect(),
    };
    let curves = [
        Curve { name: "from when sent", class: "c1".to_owned(), points: points(raw) },
        Curve { name: "from when due", class: "c0".to_owned(), points: points(latency) },
    ];
    chart::curves("percentiles", "Percentiles of latency", &x, &y, &curves)
}

/// Number of steps of the histogram.
const STEPS: usize = 120;

fn histogram(latency: &NanosHistogram) -> String {
    if latency.count() == 0 {
        return String::new();
    }
    let x = time_axis("latency", latency.min_ns(), latency.max_ns());
    let width = (x.to - x.from) / STEPS as f64;
    let mut steps = [0_u64; STEPS];
    for (low, high, count) in latency.buckets() {
        let at = ((low.midpoint(high).max(1) as f64).log10() - x.from) / width;
        steps[(at.max(0.0) as usize).min(STEPS - 1)] += count;
    }
    let most = steps.iter().copied().max().unwrap_or(1) as f64;
    let step = |(at, count): (usize, &u64)| {
        let from = x.from + at as f64 * width;
        [(from, *count as f64), (from + width, *count as f64)]
    };
    let points = steps.iter().enumerate().flat_map(step).collect();
    let curves = [Curve { name: "requests", class: "c0".to_owned(), points }];
    chart::curves("histogram", "Histogram of latency", &x, &Axis::linear("requests", most * 1.05), &curves)
}

const COLUMNS: &str = "<th>least</th><th>mean</th><th>deviation</th><th>50%</th><th>90%</th><th>95%</th><th>99%</th><th>99.9%</th><th>longest</th>";

fn cells(times: &Times) -> String {
    let values = [
        times.min,
        times.mean,
        times.deviation,
        times.p50,
        times.p90,
        times.p95,
        times.p99,
        times.p999,
        times.max,
    ];
    values.iter().map(|ms| format!("<td>{}</td>", time((ms * 1e6) as u64))).collect()
}

fn times_table(summary: &Summary) -> String {
    let mut out = format!(
        "<h2>Where the time goes</h2>\n<div class=\"scroll\"><table>\n<thead><tr><th class=\"name\"></th><th>requests</th>{COLUMNS}</tr></thead>\n<tbody>\n"
    );
    for (name, times) in [
        ("latency, from when due", &summary.latency_ms),
        ("latency, from when sent", &summary.raw_latency_ms),
        ("connect", &summary.connect_ms),
        ("waiting for the first byte", &summary.waiting_ms),
        ("transfer", &summary.transfer_ms),
        ("until it failed", &summary.failed_ms),
        ("delay of starts", &summary.start_delay_ms),
    ] {
        if times.count > 0 {
            let _ = writeln!(
                out,
                "<tr><td class=\"name\">{name}</td><td>{}</td>{}</tr>",
                times.count,
                cells(times)
            );
        }
    }
    out.push_str("</tbody>\n</table></div>\n");
    out
}

fn parts(page: &mut String, summary: &Summary) {
    if !summary.targets.is_empty() {
        let _ = writeln!(
            page,
            "<h2>Targets</h2>\n<div class=\"scroll\"><table>\n<thead><tr><th class=\"name\">target</th><th>as expected</th><th>sent</th>{COLUMNS}</tr></thead>\n<tbody>"
        );
        for part in &summary.targets {
            let _ = writeln!(
                page,
                "<tr><td class=\"name\">{}</td><td>{}</td><td>{}</td>{}</tr>",
                escaped(&part.name),
                percent(part.succeeded, part.sent),
                part.sent,
                cells(&part.latency_ms)
            );
        }
        page.push_str("</tbody>\n</table></div>\n");
    }
    if !summary.servers.is_empty() {
        page.push_str("<h2>Servers</h2>\n<div class=\"scroll\"><table>\n<thead><tr><th class=\"name\">server</th><th>requests</th><th>share</th><th>bytes</th></tr></thead>\n<tbody>\n");
        for server in &summary.servers {
            let _ = writeln!(
                page,
                "<tr><td class=\"name\">{}</td><td>{}</td><td>{:.2}%</td><td>{}</td></tr>",
                escaped(&server.name),
                server.requests,
                server.share * 100.0,
                server.bytes
            );
        }
        page.push_str("</tbody>\n</table></div>\n");
    }
    if !summary.statuses.is_empty() || !summary.faults.is_empty() {
        page.push_str("<h2>Answers</h2>\n<div class=\"scroll\"><table>\n<thead><tr><th class=\"name\">outcome</th><th>requests</th></tr></thead>\n<tbody>\n");
        for (status, count) in &summary.statuses {
            let _ = writeln!(page, "<tr><td class=\"name\">{status}</td><td>{count}</td></tr>");
        }
        for (fault, count) in &summary.faults {
            let _ = writeln!(page, "<tr><td class=\"name\">{}</td><td>{count}</td></tr>", escaped(fault));
        }
        page.push_str("</tbody>\n</table></div>\n");
    }
}
