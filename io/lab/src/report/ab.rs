//! Writes the report of ApacheBench, and the file of its option `-g`.

use std::fmt::Write;
use std::time::{Duration, SystemTime};

use weir_stats::NanosHistogram;

use super::text::printable;
use crate::facts::{Head, Mode};
use crate::record::{Fault, Record};
use crate::summary::Run;
use crate::url::Url;

/// Returns the report in the format of ApacheBench.
pub fn ab(run: &Run) -> String {
    let (tally, head) = (&run.tally, &run.head);
    let seconds = run.wall_s();
    let concurrency = match head.mode {
        Mode::Closed { connections, .. } => connections as u64,
        _ => run.facts.as_ref().map_or(0, |facts| facts.connections_at_once),
    };
    let requests = tally.all.sent;
    let per_s = requests as f64 / seconds;
    let connect_faults = tally.failed_by(|fault| {
        matches!(fault, Fault::Refused | Fault::Unreachable | Fault::Ports | Fault::Descriptors)
    });
    let bad_statuses: u64 = tally
        .statuses
        .iter()
        .enumerate()
        .filter(|(status, _)| *status > 0 && !(200..300).contains(status))
        .map(|(_, count)| count)
        .sum();
    let total_in = tally.all.bytes_in + tally.head_in;
    let url = document(head);
    let first = run.facts.as_ref().and_then(|facts| facts.first_answer.as_ref());
    let mut out = String::from("\n\n");
    line(&mut out, "Server Software:", first.map_or_else(String::new, |first| printable(&first.software)));
    line(&mut out, "Server Hostname:", url.as_ref().map_or_else(String::new, |url| url.origin.host.clone()));
    line(&mut out, "Server Port:", url.as_ref().map_or_else(String::new, |url| url.origin.port.to_string()));
    out.push('\n');
    line(&mut out, "Document Path:", url.map_or_else(String::new, |url| url.path));
    line(&mut out, "Document Length:", format!("{} bytes", first.map_or(0, |first| first.body_bytes)));
    out.push('\n');
    line(&mut out, "Concurrency Level:", concurrency.to_string());
    line(&mut out, "Time taken for tests:", format!("{seconds:.3} seconds"));
    line(&mut out, "Complete requests:", tally.all.answered.to_string());
    line(&mut out, "Failed requests:", tally.failed.count().to_string());
    if tally.failed.count() > 0 {
        let exceptions = tally.failed.count() - connect_faults;
        let _ =
            writeln!(out, "   (Connect: {connect_faults}, Receive: 0, Length: 0, Exceptions: {exceptions})");
    }
    if bad_statuses > 0 {
        line(&mut out, "Non-2xx responses:", bad_statuses.to_string());
    }
    line(&mut out, "Total transferred:", format!("{total_in} bytes"));
    if tally.bodies_out > 0 {
        line(&mut out, "Total body sent:", tally.bytes_out.to_string());
    }
    line(&mut out, "HTML transferred:", format!("{} bytes", tally.all.bytes_in));
    line(&mut out, "Requests per second:", format!("{per_s:.2} [#/sec] (mean)"));
    line(
        &mut out,
        "Time per request:",
        format!("{:.3} [ms] (mean)", concurrency as f64 * 1_000.0 / per_s.max(f64::MIN_POSITIVE)),
    );
    line(
        &mut out,
        "Time per request:",
        format!("{:.3} [ms] (mean, across all concurrent requests)", 1_000.0 / per_s.max(f64::MIN_POSITIVE)),
    );
    let kib_per_s = |bytes: u64| bytes as f64 / 1024.0 / seconds;
    line(&mut out, "Transfer rate:", format!("{:.2} [Kbytes/sec] received", kib_per_s(total_in)));
    if tally.bodies_out > 0 {
        line(&mut out, "", format!("{:.2} kb/s sent", kib_per_s(tally.bytes_out)));
        line(&mut out, "", format!("{:.2} kb/s total", kib_per_s(total_in + tally.bytes_out)));
    }
    // Whole milliseconds, because programs that read ab's reports expect them. The `-g` file has fractions.
    out.push_str("\nConnection Times (ms)\n              min  mean[+/-sd] median   max\n");
    // A reused connection takes no time to connect.
    let connect = with_zeros(&tally.connect, tally.all.answered);
    for (name, times) in [
        ("Connect:", &connect),
        ("Processing:", &tally.processing),
        ("Waiting:", &tally.waiting),
        ("Total:", &tally.raw),
    ] {
        let _ = writeln!(
            out,
            "{name:<11} {:>5} {:>4} {:>5.1} {:>6} {:>7}",
            whole_ms(times.min_ns() as f64),
            whole_ms(times.mean_ns()),
            times.deviation_ns() / 1e6,
            whole_ms(times.quantile_ns(0.5) as f64),
            whole_ms(times.max_ns() as f64)
        );
    }
    out.push_str("\nPercentage of the requests served within a certain time (ms)\n");
    for percent in [50, 66, 75, 80, 90, 95, 98, 99, 100] {
        let ms = whole_ms(tally.raw.quantile_ns(f64::from(percent) / 100.0) as f64);
        let longest = if percent == 100 { " (longest request)" } else { "" };
        let _ = writeln!(out, "{percent:>4}%  {ms:>5}{longest}");
    }
    out
}

fn line(out: &mut String, name: &str, value: String) {
    // Writing into a string cannot fail, here and elsewhere.
    let _ = writeln!(out, "{name:<24}{value}");
}

/// Returns the URL of the first target.
fn document(head: &Head) -> Option<Url> {
    head.targets.first()?.split_once(' ')?.1.parse().ok()
}

/// Rounds to milliseconds as ab does (`ap_round_ms` in support/ab.c).
fn whole_ms(ns: f64) -> u64 {
    (ns / 1e6).round() as u64
}

/// First line of the `-g` file. Its columns are the start as text, the start in seconds since 1970, and the
/// times to connect, to process, in total and to wait. The times are in milliseconds.
pub const AB_TSV_HEADING: &str = "starttime\tseconds\tctime\tdtime\tttime\twait\n";

/// Appends the line of a request in the `-g` file, with the start as text in UTC. Unlike ab, does not sort
/// the lines by `ttime`, and keeps the fractions of times.
pub fn append_ab_tsv(out: &mut String, started_unix_ns: u64, record: &Record) {
    let ms = |ns: u64| ns as f64 / 1e6;
    let connect = record.connect_ns().unwrap_or(0);
    let started_s = started_unix_ns.saturating_add(record.start_ns) / 1_000_000_000;
    let _ = writeln!(
        out,
        "{}\t{}\t{:.3}\t{:.3}\t{:.3}\t{:.3}",
        ctime(started_s),
        started_s,
        ms(connect),
        ms(record.processing_ns()),
        ms(record.raw_ns()),
        ms(record.waiting_ns())
    );
}

/// Formats a time like ctime(3), without the line end.
fn ctime(unix_s: u64) -> String {
    let time = SystemTime::UNIX_EPOCH.checked_add(Duration::from_secs(unix_s));
    // The format is "Mon, 23 Nov 2026 22:46:48 GMT". A year with more than four digits cannot be written so.
    let date = time.map(httpdate::fmt_http_date).unwrap_or_default();
    let words: Vec<&str> = date.split([' ', ',']).filter(|word| !word.is_empty()).collect();
    match words[..] {
        [weekday, day, month, year, clock, _] => {
            format!("{weekday} {month} {:>2} {clock} {year}", day.trim_start_matches('0'))
        }
        _ => date,
    }
}

fn with_zeros(times: &NanosHistogram, count: u64) -> NanosHistogram {
    let mut all = times.clone();
    all.record_many(0, count.saturating_sub(times.count()));
    all
}
