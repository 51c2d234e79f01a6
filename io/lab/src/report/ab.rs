//! ApacheBench's report, and the file that its `-g` writes.

use std::fmt::Write;
use std::time::{Duration, SystemTime};

use weir_stats::NanosHistogram;

use crate::facts::Mode;
use crate::record::{Fault, Record};
use crate::summary::Run;

/// Its report.
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
    let mut out = String::new();
    let mut line = |name: &str, value: String| {
        // Writing into a string cannot fail, here and below.
        let _ = writeln!(out, "{name:<24}{value}");
    };
    line("Document:", head.targets.first().cloned().unwrap_or_default());
    if tally.all.succeeded > 0 {
        line("Document Length:", format!("{} bytes", tally.all.body_max));
    }
    line("Concurrency Level:", concurrency.to_string());
    line("Time taken for tests:", format!("{seconds:.3} seconds"));
    line("Complete requests:", tally.all.answered.to_string());
    line("Failed requests:", tally.failed.count().to_string());
    if tally.failed.count() > 0 {
        let exceptions = tally.failed.count() - connect_faults;
        line("", format!("(Connect: {connect_faults}, Exceptions: {exceptions})"));
    }
    if bad_statuses > 0 {
        line("Non-2xx responses:", bad_statuses.to_string());
    }
    line("Total transferred:", format!("{total_in} bytes"));
    line("Total body sent:", tally.bytes_out.to_string());
    line("HTML transferred:", format!("{} bytes", tally.all.bytes_in));
    line("Requests per second:", format!("{per_s:.2} [#/sec] (mean)"));
    line(
        "Time per request:",
        format!("{:.3} [ms] (mean)", concurrency as f64 * 1_000.0 / per_s.max(f64::MIN_POSITIVE)),
    );
    line(
        "Time per request:",
        format!("{:.3} [ms] (mean, across all concurrent requests)", 1_000.0 / per_s.max(f64::MIN_POSITIVE)),
    );
    line("Transfer rate:", format!("{:.2} [Kbytes/sec] received", total_in as f64 / 1024.0 / seconds));
    out.push_str("\nConnection Times (ms)\n              min  mean[+/-sd] median   max\n");
    // On a kept connection nothing is connected: that took no time.
    let connect = with_zeros(&tally.connect, tally.all.answered);
    for (name, times) in [
        ("Connect:", &connect),
        ("Processing:", &tally.processing),
        ("Waiting:", &tally.waiting),
        ("Total:", &tally.raw),
    ] {
        let ms = |ns: u64| ns as f64 / 1e6;
        let _ = writeln!(
            out,
            "{name:<11}{:>6.0}{:>5.1}{:>7.1}{:>7.1}{:>8.0}",
            ms(times.min_ns()).floor(),
            times.mean_ns() / 1e6,
            times.deviation_ns() / 1e6,
            ms(times.quantile_ns(0.5)),
            ms(times.max_ns())
        );
    }
    out.push_str("\nPercentage of the requests served within a certain time (ms)\n");
    for percent in [50, 66, 75, 80, 90, 95, 98, 99, 100] {
        let ms = tally.raw.quantile_ns(f64::from(percent) / 100.0) as f64 / 1e6;
        let longest = if percent == 100 { " (longest request)" } else { "" };
        let _ = writeln!(out, "{percent:>5}% {ms:>9.3}{longest}");
    }
    out
}

/// The first line of its `-g` file: start as a text and in seconds since 1970, then milliseconds to connect, to process, in all and to wait.
pub const AB_TSV_HEADING: &str = "starttime\tseconds\tctime\tdtime\tttime\twait\n";

/// Appends a request's line of its `-g` file, whose text of the start is in UTC here. ab sorts these lines by `ttime`; who wants that
/// sorts them. Times have fractions, which ab cuts off.
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

/// As ctime(3) writes it, without the end of the line.
fn ctime(unix_s: u64) -> String {
    let time = SystemTime::UNIX_EPOCH.checked_add(Duration::from_secs(unix_s));
    // "Mon, 23 Nov 2026 22:46:48 GMT"; a year of more than four digits has no such form.
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
