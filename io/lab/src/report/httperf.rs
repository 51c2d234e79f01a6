//! Writes the report of httperf.

use std::fmt::Write;

use weir_stats::mean;

use crate::facts::Facts;
use crate::record::Fault;
use crate::summary::Run;

/// Returns the report in the format of httperf.
pub fn httperf(run: &Run) -> String {
    let tally = &run.tally;
    let nothing = Facts::default();
    let facts = run.facts.as_ref().unwrap_or(&nothing);
    let seconds = run.wall_s();
    let ms = |ns: f64| ns / 1e6;
    let (requests, replies) = (tally.all.sent, tally.all.answered);
    let rate = |count: u64| (count as f64 / seconds, 1_000.0 * seconds / count.max(1) as f64);
    let per_reply = |bytes: u64| bytes as f64 / replies.max(1) as f64;
    let mut out = String::new();
    // Writing into a string cannot fail, here and below.
    let _ = writeln!(out, "Maximum connect burst length: {}\n", facts.connect_burst_max);
    let _ = writeln!(
        out,
        "Total: connections {} requests {requests} replies {replies} test-duration {seconds:.3} s\n",
        facts.connections
    );
    let (per_s, each_ms) = rate(facts.connections);
    let _ = writeln!(
        out,
        "Connection rate: {per_s:.1} conn/s ({each_ms:.1} ms/conn, <={} concurrent connections)",
        facts.connections_at_once
    );
    if let Some(sessions) = &facts.sessions {
        let _ = writeln!(
            out,
            "Connection time [ms]: min {:.1} avg {:.1} max {:.1} median {:.1} stddev {:.1}",
            sessions.min_ms, sessions.mean_ms, sessions.max_ms, sessions.median_ms, sessions.deviation_ms
        );
    }
    let _ = writeln!(out, "Connection time [ms]: connect {:.1}", ms(tally.connect.mean_ns()));
    let length = facts
        .sessions
        .map_or(replies as f64 / facts.connections.max(1) as f64, |sessions| sessions.replies_mean);
    let _ = writeln!(out, "Connection length [replies/conn]: {length:.3}\n");
    let (per_s, each_ms) = rate(requests);
    let _ = writeln!(out, "Request rate: {per_s:.1} req/s ({each_ms:.1} ms/req)");
    let _ = writeln!(out, "Request size [B]: {:.1}\n", tally.bytes_out as f64 / requests.max(1) as f64);
    let rates = run.reply_rates();
    let average = mean(&rates).unwrap_or(0.0);
    let variance = match rates.len() {
        0 | 1 => 0.0,
        count => rates.iter().map(|rate| (rate - average).powi(2)).sum::<f64>() / (count - 1) as f64,
    };
    let least = if rates.is_empty() { 0.0 } else { rates.iter().copied().fold(f64::INFINITY, f64::min) };
    let _ = writeln!(
        out,
        "Reply rate [replies/s]: min {least:.1} avg {average:.1} max {:.1} stddev {:.1} ({} samples)",
        rates.iter().copied().fold(0.0, f64::max),
        variance.sqrt(),
        rates.len()
    );
    let _ = writeln!(
        out,
        "Reply time [ms]: response {:.1} transfer {:.1}",
        ms(tally.waiting.mean_ns()),
        ms(tally.transfer.mean_ns())
    );
    let (header, content) = (per_reply(tally.head_in), per_reply(tally.all.bytes_in));
    let _ = writeln!(
        out,
        "Reply size [B]: header {header:.1} content {content:.1} footer 0.0 (total {:.1})",
        header + content
    );
    let class = |class: usize| tally.statuses.iter().skip(class * 100).take(100).sum::<u64>();
    let of_class = |at| if at == 1 { 0 } else { class(at) };
    let statuses: Vec<String> = (1..=5).map(|at| format!("{at}xx={}", of_class(at))).collect();
    let _ = writeln!(out, "Reply status: {}\n", statuses.join(" "));
    let (user, system) = (facts.cpu_user_ns as f64 / 1e9, facts.cpu_system_ns as f64 / 1e9);
    let share = |cpu: f64| cpu / seconds * 100.0;
    let _ = writeln!(
        out,
        "CPU time [s]: user {user:.2} system {system:.2} (user {:.1}% system {:.1}% total {:.1}%)",
        share(user),
        share(system),
        share(user + system)
    );
    let bytes_per_s = (tally.all.bytes_in + tally.head_in + tally.bytes_out) as f64 / seconds;
    let _ = writeln!(
        out,
        "Net I/O: {:.1} KB/s ({:.1}*10^6 bps)\n",
        bytes_per_s / 1024.0,
        bytes_per_s * 8.0 / 1e6
    );
    let failed = |fault: Fault| tally.failed_by(|other| other == fault);
    let named = [Fault::Timeout, Fault::Refused, Fault::Reset, Fault::Descriptors, Fault::Ports]
        .map(failed)
        .iter()
        .sum::<u64>();
    let _ = writeln!(
        out,
        "Errors: total {} client-timo {} socket-timo 0 connrefused {} connreset {}",
        tally.failed.count(),
        failed(Fault::Timeout),
        failed(Fault::Refused),
        failed(Fault::Reset)
    );
    let _ = writeln!(
        out,
        "Errors: fd-unavail {} addrunavail {} ftab-full 0 other {}",
        failed(Fault::Descriptors),
        failed(Fault::Ports),
        tally.failed.count() - named
    );
    out
}
