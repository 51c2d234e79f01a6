//! Writes results as CSV.

use serde_json::Value;
use weir_config::lab::Measure;
use weir_stats::mean;

use super::super::analysis::Analysis;
use super::super::flaw::{RunFlaw, Whose};
use super::super::store::Played;

/// Returns a line per run (RFC 4180). It contains every measure, and requests and bytes of each server as
/// `s1=50;s2=50`. Further columns are the figures that ApacheBench, httperf and vegeta report.
pub fn csv(analysis: &Analysis) -> String {
    let measures = Measure::ALL.map(Measure::name).join(",");
    let mut out = format!(
        "case,rival,repeat,place,started_unix_s,seconds,valid,sent,succeeded,calibration_ns,\
         requests_of_servers,bytes_of_servers,{measures},{},flaws\r\n",
        names_of_more().join(",")
    );
    for run in &analysis.results.runs {
        let figure = |measure| {
            let value = run.figures.iter().find(|(it, _)| *it == measure);
            value.map_or_else(String::new, |(_, value)| value.to_string())
        };
        let figures = Measure::ALL.map(figure).join(",");
        out.push_str(&format!(
            "{},{},{},{},{},{},{},{},{},{},{},{},{figures},{},{}\r\n",
            quoted(&run.case),
            quoted(&run.rival),
            run.repeat,
            run.place,
            run.started_unix_s,
            run.seconds,
            run.is_valid(),
            run.sent,
            run.succeeded,
            run.calibration_ns,
            quoted(&each(run, |(_, requests, _)| *requests)),
            quoted(&each(run, |(_, _, bytes)| *bytes)),
            more(&run.summary).join(","),
            quoted(&flaws(run)),
        ));
    }
    out
}

/// Returns the reasons why a run is invalid, each with the party at fault.
fn flaws(run: &Played) -> String {
    let said = |flaw: &RunFlaw| {
        format!("{}: {}", if flaw.whose == Whose::Lab { "lab" } else { "measured" }, flaw.text)
    };
    run.flaws.iter().map(said).collect::<Vec<_>>().join("; ")
}

/// Distributions of a summary and their statistics, in milliseconds.
const TIMES: [&str; 6] = ["latency", "raw_latency", "connect", "waiting", "processing", "transfer"];
const OF_TIMES: [&str; 9] = ["min", "mean", "deviation", "p50", "p90", "p95", "p99", "p999", "max"];

/// Columns, with their JSON pointers in a summary. `session` is a connection with all its calls.
const NUMBERS: [(&str, &str); 16] = [
    ("answered", "/requests/answered"),
    ("late", "/requests/late"),
    ("sent_per_s", "/requests/sent_per_s"),
    ("answered_per_s", "/requests/answered_per_s"),
    ("bodies_in_bytes", "/bytes/bodies_in"),
    ("heads_in_bytes", "/bytes/heads_in"),
    ("out_bytes", "/bytes/out"),
    ("bodies_in_bytes_per_s", "/bytes/in_per_s"),
    ("connections", "/facts/connections"),
    ("connections_at_once", "/facts/connections_at_once"),
    ("connect_burst_max", "/facts/connect_burst_max"),
    ("session_min_ms", "/facts/sessions/min_ms"),
    ("session_mean_ms", "/facts/sessions/mean_ms"),
    ("session_max_ms", "/facts/sessions/max_ms"),
    ("session_median_ms", "/facts/sessions/median_ms"),
    ("session_deviation_ms", "/facts/sessions/deviation_ms"),
];

fn names_of_more() -> Vec<String> {
    let times = TIMES.iter().flat_map(|times| OF_TIMES.map(|of| format!("{times}_{of}_ms")));
    let numbers = NUMBERS.iter().map(|(name, _)| (*name).to_owned());
    let rates = ["min", "mean", "max", "deviation"].map(|of| format!("reply_rate_{of}_per_s"));
    times.chain(numbers).chain(rates).chain(["statuses".to_owned(), "faults".to_owned()]).collect()
}

/// Returns the values in the order of [`names_of_more`]. A value that a summary does not have is empty.
fn more(summary: &str) -> Vec<String> {
    let summary: Value = serde_json::from_str(summary).unwrap_or_default();
    let at = |pointer: &str| summary.pointer(pointer).filter(|value| value.is_number()).map(Value::to_string);
    let times = TIMES.iter().flat_map(|times| OF_TIMES.map(|of| at(&format!("/{times}_ms/{of}"))));
    let numbers = NUMBERS.iter().map(|(_, pointer)| at(pointer));
    let mut more: Vec<String> = times.chain(numbers).map(Option::unwrap_or_default).collect();
    more.extend(of_reply_rates(&summary));
    // Formats pairs of name and count in the same way as servers.
    let pairs = |name: &str| {
        let pair = |pair: &Value| {
            let what = pair.get(0)?;
            let what = what.as_str().map_or_else(|| what.to_string(), str::to_owned);
            Some(format!("{what}={}", pair.get(1)?))
        };
        let pairs = summary.get(name).and_then(Value::as_array).into_iter().flatten();
        quoted(&pairs.filter_map(pair).collect::<Vec<_>>().join(";"))
    };
    more.extend([pairs("statuses"), pairs("faults")]);
    more
}

/// Returns the minimum, the mean, the maximum and the standard deviation, as httperf computes them from its
/// samples of five seconds.
fn of_reply_rates(summary: &Value) -> [String; 4] {
    let rates = summary.get("reply_rates").and_then(Value::as_array).into_iter().flatten();
    let rates: Vec<f64> = rates.filter_map(Value::as_f64).collect();
    let Some(average) = mean(&rates) else { return Default::default() };
    let squares: f64 = rates.iter().map(|rate| (rate - average).powi(2)).sum();
    let deviation = (squares / rates.len().saturating_sub(1).max(1) as f64).sqrt();
    let least = rates.iter().copied().fold(f64::INFINITY, f64::min);
    [least, average, rates.iter().copied().fold(0.0, f64::max), deviation].map(|rate| rate.to_string())
}

fn each(run: &Played, of: fn(&(String, u64, u64)) -> u64) -> String {
    let all = run.servers.iter().map(|server| format!("{}={}", server.0, of(server)));
    all.collect::<Vec<_>>().join(";")
}

fn quoted(text: &str) -> String {
    if text.contains([',', '"', '\r', '\n']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_column_is_of_something_that_a_summary_has() {
        let summary = serde_json::to_string(&crate::report::tests::run().summary()).unwrap();
        let (names, values) = (names_of_more(), more(&summary));
        assert_eq!(names.len(), values.len());
        let of_some = |name: &str| name.starts_with("session_") || name.starts_with("reply_rate_");
        for (name, value) in names.iter().zip(values).filter(|(name, _)| !of_some(name)) {
            assert!(!value.is_empty(), "{name} is nowhere in {summary}");
        }
    }
}
