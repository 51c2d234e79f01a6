//! Writes the reports of vegeta. There, a failed request also has a latency: the time until it failed. Only a
//! status from 200 to 399 is a success.

use std::fmt::Write;

use serde_json::json;
use weir_stats::NanosHistogram;

use crate::summary::Run;
use crate::units::{self, go_duration};

/// Figures of both formats.
struct Figures {
    latency: NanosHistogram,
    requests: u64,
    attack_ns: u64,
    wait_ns: u64,
    rate: f64,
    throughput: f64,
    success: f64,
    codes: Vec<(u16, u64)>,
    errors: Vec<String>,
}

impl Figures {
    fn of(run: &Run) -> Self {
        let tally = &run.tally;
        let mut latency = tally.all.latency.clone();
        latency.merge(&tally.failed);
        let requests = tally.all.sent;
        let attack_ns = tally.last_start_ns.saturating_sub(tally.first_start_ns.min(tally.last_start_ns));
        let wait_ns = tally.last_end_ns.saturating_sub(tally.last_start_ns);
        let per_s = |count: f64, ns: u64| if ns == 0 { count } else { count / (ns as f64 / 1e9) };
        let failed = tally.failed.count();
        let faulty: Vec<(u16, u64)> = if failed > 0 { vec![(0, failed)] } else { Vec::new() };
        let answered = tally.statuses.iter().enumerate().filter(|(status, count)| *status > 0 && **count > 0);
        let codes = faulty.into_iter().chain(answered.map(|(status, count)| (status as u16, *count)));
        let good: u64 = tally.statuses.iter().take(400).skip(200).sum();
        let mut errors: Vec<String> = tally.faults().map(|(fault, _)| fault.to_string()).collect();
        let bad = tally.statuses.iter().enumerate().skip(400).filter(|(_, count)| **count > 0);
        errors.extend(bad.map(|(status, _)| {
            format!("{status} {}", weir_http::reason(status as u16)).trim_end().to_owned()
        }));
        Self {
            latency,
            requests,
            attack_ns,
            wait_ns,
            rate: per_s(requests as f64, attack_ns),
            throughput: per_s(good as f64, attack_ns + wait_ns),
            success: good as f64 / requests.max(1) as f64,
            codes: codes.collect(),
            errors,
        }
    }
}

/// Returns the report in vegeta's text format.
pub fn vegeta_text(run: &Run) -> String {
    let figures = Figures::of(run);
    let tally = &run.tally;
    let mean = |bytes: u64| bytes as f64 / figures.requests.max(1) as f64;
    let quantile = |quantile: f64| go_duration(figures.latency.quantile_ns(quantile));
    let codes = figures.codes.iter().map(|(code, count)| format!("{code}:{count}")).collect::<Vec<_>>();
    let mut out = String::new();
    let mut line = |name: &str, fields: &str, values: String| {
        // Writing into a string cannot fail.
        let _ = writeln!(out, "{name:<14}{fields:<34}{values}");
    };
    line(
        "Requests",
        "[total, rate, throughput]",
        format!("{}, {:.2}, {:.2}", figures.requests, figures.rate, figures.throughput),
    );
    line(
        "Duration",
        "[total, attack, wait]",
        format!(
            "{}, {}, {}",
            go_duration(figures.attack_ns + figures.wait_ns),
            go_duration(figures.attack_ns),
            go_duration(figures.wait_ns)
        ),
    );
    line(
        "Latencies",
        "[min, mean, 50, 90, 95, 99, max]",
        format!(
            "{}, {}, {}, {}, {}, {}, {}",
            go_duration(figures.latency.min_ns()),
            go_duration(figures.latency.mean_ns() as u64),
            quantile(0.5),
            quantile(0.9),
            quantile(0.95),
            quantile(0.99),
            go_duration(figures.latency.max_ns())
        ),
    );
    line("Bytes In", "[total, mean]", format!("{}, {:.2}", tally.all.bytes_in, mean(tally.all.bytes_in)));
    let body_out = tally.bodies_out;
    line("Bytes Out", "[total, mean]", format!("{body_out}, {:.2}", mean(body_out)));
    line("Success", "[ratio]", format!("{:.2}%", figures.success * 100.0));
    line("Status Codes", "[code:count]", codes.join("  "));
    out.push_str("Error Set:\n");
    for error in &figures.errors {
        out.push_str(error);
        out.push('\n');
    }
    out
}

/// Returns the report in vegeta's JSON format. Durations are in nanoseconds.
pub fn vegeta_json(run: &Run) -> String {
    let figures = Figures::of(run);
    let tally = &run.tally;
    let mean = |bytes: u64| bytes as f64 / figures.requests.max(1) as f64;
    let quantile = |quantile: f64| figures.latency.quantile_ns(quantile);
    let at = |ns: u64| rfc3339(run.head.started_unix_ns.saturating_add(ns));
    let codes: serde_json::Map<_, _> =
        figures.codes.iter().map(|(code, count)| (code.to_string(), json!(count))).collect();
    let first = tally.first_start_ns.min(tally.last_start_ns);
    let total = u64::try_from(figures.latency.sum_ns()).unwrap_or(u64::MAX);
    let report = json!({
        "latencies": {
            "total": total,
            "mean": figures.latency.mean_ns() as u64,
            "50th": quantile(0.5),
            "90th": quantile(0.9),
            "95th": quantile(0.95),
            "99th": quantile(0.99),
            "max": figures.latency.max_ns(),
            "min": figures.latency.min_ns(),
        },
        "bytes_in": { "total": tally.all.bytes_in, "mean": mean(tally.all.bytes_in) },
        "bytes_out": { "total": tally.bodies_out, "mean": mean(tally.bodies_out) },
        "earliest": at(first),
        "latest": at(tally.last_start_ns),
        "end": at(tally.last_end_ns),
        "duration": figures.attack_ns,
        "wait": figures.wait_ns,
        "requests": figures.requests,
        "rate": figures.rate,
        "throughput": figures.throughput,
        "success": figures.success,
        "status_codes": codes,
        "errors": figures.errors,
    });
    format!("{report}\n")
}

/// Returns vegeta's histogram with buckets that begin at `bounds`, for example `0,1ms,5ms`.
///
/// # Errors
/// If a bound is not a duration, or if the bounds are not in order.
pub fn vegeta_histogram(run: &Run, bounds: &str) -> Result<String, String> {
    let bounds = bounds.trim().trim_start_matches('[').trim_end_matches(']');
    let read = |bound: &str| Ok(u64::try_from(units::duration(bound)?.as_nanos()).unwrap_or(u64::MAX));
    let mut bounds: Vec<u64> = bounds.split(',').map(read).collect::<Result<_, String>>()?;
    if !bounds.is_sorted() {
        return Err("the buckets must be in order".to_owned());
    }
    if bounds.first().is_some_and(|bound| *bound > 0) {
        bounds.insert(0, 0);
    }
    let Figures { latency, .. } = Figures::of(run);
    let edges = bounds.iter().copied().map(Some).chain([None]).collect::<Vec<_>>();
    let below = |edge: Option<u64>| edge.map_or(latency.count(), |edge| latency.count_below(edge));
    let name = |edge: Option<u64>| edge.map_or("+Inf".to_owned(), go_duration);
    let rows: Vec<(String, String, u64)> = edges
        .windows(2)
        .map(|pair| (name(pair[0]), name(pair[1]), below(pair[1]).saturating_sub(below(pair[0]))))
        .collect();
    let width = |texts: &mut dyn Iterator<Item = usize>| texts.max().unwrap_or(0);
    let first = width(&mut rows.iter().map(|(from, ..)| from.len()));
    let second = width(&mut rows.iter().map(|(_, to, _)| to.len()));
    let third = width(&mut rows.iter().map(|(.., count)| count.to_string().len()).chain([1]));
    let mut out =
        format!("{:<w$}  {:<third$}  {:<7}  Histogram\n", "Bucket", "#", "%", w = first + second + 4);
    for (from, to, count) in rows {
        let share = count as f64 / latency.count().max(1) as f64;
        let bar = "#".repeat((share * 75.0) as usize);
        let row = format!(
            "[{from},{}{to}]{}  {count:<third$}  {:<7}  {bar}",
            " ".repeat(first + second + 1 - from.len() - to.len()),
            "",
            format!("{:.2}%", share * 100.0),
        );
        out.push_str(row.trim_end());
        out.push('\n');
    }
    Ok(out)
}

/// Formats nanoseconds since 1970 as RFC 3339 in UTC.
fn rfc3339(unix_ns: u64) -> String {
    let (seconds, nanos) = (unix_ns / 1_000_000_000, unix_ns % 1_000_000_000);
    let (days, of_day) = ((seconds / 86_400) as i64, seconds % 86_400);
    // Converts days to a Gregorian date with eras of 400 years that begin in March, so that the leap day is
    // the last day of a year.
    let shifted = days + 719_468;
    let (era, of_era) = (shifted / 146_097, shifted % 146_097);
    let year_of_era = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let march_month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * march_month + 2) / 5 + 1;
    let month = if march_month < 10 { march_month + 3 } else { march_month - 9 };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    let (hours, minutes) = (of_day / 3_600, of_day / 60 % 60);
    format!("{year:04}-{month:02}-{day:02}T{hours:02}:{minutes:02}:{:02}.{nanos:09}Z", of_day % 60)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instants_are_those_of_the_calendar() {
        assert_eq!(rfc3339(0), "1970-01-01T00:00:00.000000000Z");
        assert_eq!(rfc3339(951_782_400_000_000_001), "2000-02-29T00:00:00.000000001Z");
        assert_eq!(rfc3339(1_795_250_901_838_000_000), "2026-11-21T08:48:21.838000000Z");
    }
}
