//! Writes Weir's own report as text.

use std::fmt::Write;

use weir_stats::NanosHistogram;

use crate::facts::{Facts, Head, Mode};
use crate::judge::{percent, quota};
use crate::summary::{Run, Summary, Uploads};
use crate::units::{number, seconds, time};

/// Returns Weir's own report. Its last line says if the run is valid.
pub fn text(run: &Run) -> String {
    let summary = run.summary();
    let mut out = String::new();
    // Writing into a string cannot fail, here and below.
    let _ = writeln!(out, "{}", describe(&run.head));
    out.push('\n');
    requests(&mut out, run, &summary);
    if let Some(facts) = &run.facts {
        own(&mut out, facts);
    }
    out.push('\n');
    latencies(&mut out, run);
    out.push('\n');
    outcomes(&mut out, &summary);
    parts(&mut out, &summary);
    out.push_str(&verdict(&summary));
    out
}

/// Describes the settings of the run in one or two lines.
pub(super) fn describe(head: &Head) -> String {
    let what = match head.targets.as_slice() {
        [] => "nothing".to_owned(),
        [one] => one.clone(),
        [first, rest @ ..] => format!("{first} and {} more targets", rest.len()),
    };
    let threads = if head.threads == 1 { "1 thread".to_owned() } else { format!("{} threads", head.threads) };
    let pause = |pause_s: f64| match pause_s {
        0.0 => String::new(),
        pause_s => format!(", {} of pause before each next one", seconds(pause_s)),
    };
    let arrivals = |arrivals: &crate::Arrivals| match arrivals {
        crate::Arrivals::Even => "evenly spaced".to_owned(),
        crate::Arrivals::Poisson { seed } => format!("Poisson, seed {seed}"),
    };
    let how = match &head.mode {
        Mode::Open { phases, arrivals: spacing } => {
            format!("open loop: {phases}, {}; up to {} connections", arrivals(spacing), head.connections_max)
        }
        Mode::Replay { log, speed } => {
            let speed =
                if *speed == 1.0 { String::new() } else { format!(", {} times as fast", number(*speed)) };
            format!("open loop: as in {log}{speed}; up to {} connections", head.connections_max)
        }
        Mode::Closed { connections, pause_s } => {
            let until = match (head.requests, head.duration_s) {
                (Some(requests), None) => format!("{requests} requests"),
                (Some(requests), Some(lasts)) => format!("{requests} requests, at most {}", seconds(lasts)),
                (None, lasts) => seconds(lasts.unwrap_or(0.0)),
            };
            format!("closed loop: {connections} connections, {until}{}", pause(*pause_s))
        }
        Mode::Sessions { phases, arrivals: spacing, calls, pause_s } => format!(
            "sessions: {phases}, {}; {calls} calls on a connection{}; up to {} connections",
            arrivals(spacing),
            pause(*pause_s),
            head.connections_max
        ),
    };
    let http2 = match head.streams {
        Some(1) => "; HTTP/2, one request at a time on each".to_owned(),
        Some(streams) => format!("; HTTP/2, up to {streams} requests at a time on each"),
        None => String::new(),
    };
    format!("{what}\n{how}{http2}; {threads}")
}

fn requests(out: &mut String, run: &Run, summary: &Summary) {
    let (tally, requests) = (&run.tally, &summary.requests);
    let due = run.facts.as_ref().map_or(requests.sent, |facts| facts.due);
    let _ = writeln!(
        out,
        "Requests     {due} due, {} sent, {} answered, {} as expected ({})",
        requests.sent,
        requests.answered,
        requests.succeeded,
        percent(requests.succeeded, requests.sent)
    );
    let _ = writeln!(
        out,
        "Rate         {}/s sent in {}, {}/s answered in {}",
        number(requests.sent_per_s),
        seconds(run.attack_s()),
        number(requests.answered_per_s),
        seconds(run.wall_s())
    );
    if run.head.mode.has_schedule() {
        let _ = writeln!(
            out,
            "Schedule     {} starts over 1 ms late ({}); mean delay {}, longest {}",
            tally.late,
            percent(tally.late, requests.sent),
            time(tally.delay.mean_ns() as u64),
            time(tally.delay.max_ns())
        );
    }
    let each = match tally.all.succeeded {
        0 => String::new(),
        _ if tally.all.body_min == tally.all.body_max => format!(", {} bytes each", tally.all.body_min),
        _ => format!(", {} to {} bytes each", tally.all.body_min, tally.all.body_max),
    };
    let _ = writeln!(
        out,
        "Bytes        {} in bodies{each}, {}/s; {} in heads; {} sent",
        size(summary.bytes.bodies_in as f64),
        size(summary.bytes.in_per_s),
        size(summary.bytes.heads_in as f64),
        size(summary.bytes.out as f64)
    );
    if let Some(Uploads { verified, unverified }) = summary.uploads {
        let why = if unverified > 0 { " (the answers tell no checksum of what was sent)" } else { "" };
        let _ = writeln!(out, "Uploads      {verified} verified, {unverified} not verified{why}");
    }
}

fn own(out: &mut String, facts: &Facts) {
    let unasked = match facts.unasked {
        0 => String::new(),
        count => format!("; on {count} of them bytes came that no request asked for"),
    };
    let allowed = facts.streams_allowed.map_or(String::new(), |streams| {
        format!("; the server allows no more than {streams} requests at a time on each")
    });
    let _ = writeln!(
        out,
        "Connections  {} made, {} at once, {} closed by the server while idle{unasked}{allowed}",
        facts.connections, facts.connections_at_once, facts.closed_idle
    );
    let busy = facts.threads.iter().map(|thread| {
        let share = |part: u64| part as f64 / thread.wall_ns.max(1) as f64 * 100.0;
        let delayed =
            thread.run_delay_ns.map_or(String::new(), |ns| format!(", kept waiting {:.1}%", share(ns)));
        let ahead = if thread.is_ahead { ", ahead of other programs" } else { "" };
        format!("busy {:.0}%{delayed}{ahead}", share(thread.busy_ns))
    });
    let _ = writeln!(
        out,
        "Generator    {} user, {} system; threads: {}",
        seconds(facts.cpu_user_ns as f64 / 1e9),
        seconds(facts.cpu_system_ns as f64 / 1e9),
        busy.collect::<Vec<_>>().join("; ")
    );
    if let Some(quota) = quota(facts) {
        let _ = writeln!(out, "Quota        {quota}");
    }
    if let Some(sessions) = &facts.sessions {
        let _ = writeln!(
            out,
            "Sessions     {} complete, {} replies on each, {}ms on average",
            sessions.complete,
            number(sessions.replies_mean),
            number(sessions.mean_ms)
        );
    }
}

fn latencies(out: &mut String, run: &Run) {
    let tally = &run.tally;
    let mut columns: Vec<(&str, &NanosHistogram)> = Vec::new();
    if run.head.mode.has_schedule() {
        columns.push(("from due", &tally.all.latency));
    }
    columns.push(("from sent", &tally.raw));
    if tally.connect.count() > 0 {
        columns.push(("connect", &tally.connect));
    }
    columns.push(("waiting", &tally.waiting));
    columns.push(("transfer", &tally.transfer));
    let _ = write!(out, "Latency   ");
    for (name, _) in &columns {
        let _ = write!(out, "{name:>12}");
    }
    out.push('\n');
    type Row = (&'static str, fn(&NanosHistogram) -> u64);
    const ROWS: [Row; 9] = [
        ("min", NanosHistogram::min_ns),
        ("mean", |times| times.mean_ns() as u64),
        ("deviation", |times| times.deviation_ns() as u64),
        ("50%", |times| times.quantile_ns(0.5)),
        ("90%", |times| times.quantile_ns(0.9)),
        ("95%", |times| times.quantile_ns(0.95)),
        ("99%", |times| times.quantile_ns(0.99)),
        ("99.9%", |times| times.quantile_ns(0.999)),
        ("max", NanosHistogram::max_ns),
    ];
    for (name, value) in ROWS {
        let _ = write!(out, "{name:<10}");
        for (_, histogram) in &columns {
            let _ = write!(out, "{:>12}", time(value(histogram)));
        }
        out.push('\n');
    }
    if tally.failed.count() > 0 {
        let _ = writeln!(
            out,
            "Of the {} requests that were answered; the {} that failed took {} (median).",
            tally.all.answered,
            tally.failed.count(),
            time(tally.failed.quantile_ns(0.5))
        );
    }
}

fn outcomes(out: &mut String, summary: &Summary) {
    let statuses: Vec<String> =
        summary.statuses.iter().map(|(status, count)| format!("{status}: {count}")).collect();
    let statuses = if statuses.is_empty() { "none".to_owned() } else { statuses.join("  ") };
    let _ = writeln!(out, "Statuses     {statuses}");
    for (fault, count) in &summary.faults {
        let _ = writeln!(out, "Failed       {count} times: {fault}");
    }
}

fn parts(out: &mut String, summary: &Summary) {
    if !summary.targets.is_empty() {
        let _ = writeln!(out, "\nTargets         sent  answered  as expected       50%       99%       max");
        for part in &summary.targets {
            let ms = |ms: f64| time((ms * 1e6) as u64);
            let _ = writeln!(
                out,
                "{:>20}{:>10}{:>13}{:>10}{:>10}{:>10}  {}",
                part.sent,
                part.answered,
                part.succeeded,
                ms(part.latency_ms.p50),
                ms(part.latency_ms.p99),
                ms(part.latency_ms.max),
                printable(&part.name)
            );
        }
    }
    if !summary.servers.is_empty() {
        let _ = writeln!(out, "\nServers     requests     share          bytes");
        for server in &summary.servers {
            let _ = writeln!(
                out,
                "{:>20}{:>9.2}%{:>15}  {}",
                server.requests,
                server.share * 100.0,
                server.bytes,
                printable(&server.name)
            );
        }
    }
}

/// Returns the verdict: if the run is valid, and why not, and if the server met the expectations.
pub(super) fn verdict(summary: &Summary) -> String {
    let mut out = String::from(match (summary.valid, summary.marks.is_empty()) {
        (true, true) => "\nVALID: the generator did what it was asked to\n",
        (true, false) => {
            "\nVALID BUT LATE, which was accepted: latencies hold the lateness where they count from when requests were due\n"
        }
        (false, _) => "\nINVALID: these figures say nothing about the server\n",
    });
    for flaw in summary.flaws.iter().chain(&summary.marks) {
        let _ = writeln!(out, "  - {}", printable(&flaw.text));
    }
    if let Some(failed) = &summary.server_failed {
        let _ = writeln!(out, "THE SERVER FAILED: {}", printable(failed));
    }
    if let Some(failures) = &summary.tolerated_failures {
        let _ = writeln!(out, "TOLERATED FAILURES: {}", printable(failures));
    }
    out
}

/// Replaces control characters, because text from outside must not control a terminal.
pub(super) fn printable(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

pub(super) fn size(bytes: f64) -> String {
    let mut value = bytes;
    for unit in ["B", "KiB", "MiB", "GiB"] {
        if value < 1024.0 {
            return if unit == "B" { format!("{value:.0} B") } else { format!("{value:.2} {unit}") };
        }
        value /= 1024.0;
    }
    format!("{value:.2} TiB")
}
