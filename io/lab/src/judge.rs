//! Decides if a run is valid. A flaw is a reason why it is not.

use serde::Serialize;

use crate::facts::{Balance, Facts, Head, Mode};
use crate::record::Fault;
use crate::tally::Tally;
use crate::units;

/// Reason why a run is invalid.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Flaw {
    /// Kind of flaw, for programs.
    pub kind: FlawKind,
    /// Explanation with figures.
    pub text: String,
}

/// Kinds of flaws.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum FlawKind {
    /// More than 1% of the starts were over 1 ms late.
    Late,
    /// Less than 99% of the requests were sent.
    Unsent,
    /// The generator had no CPU time to spare.
    Cpu,
    /// The generator ran out of file descriptors.
    Descriptors,
    /// The generator ran out of local ports.
    Ports,
    /// The generator or its machine ran out of memory.
    Memory,
    /// Response bodies are not as expected.
    Bytes,
    /// The distribution of requests over servers is not as expected.
    Balance,
    /// Responses came sooner than the server should have sent them.
    ThinkTime,
    /// The server was silent while requests were in progress.
    Stuck,
    /// The run has no responses to measure.
    NothingAnswered,
    /// The run did not reach its end.
    CutOff,
    /// The result file is incomplete.
    Unrecorded,
}

impl FlawKind {
    /// Returns true if the generator or its machine caused the flaw, so that it says nothing about the
    /// server. For starts that are late or missing, see [`Run::is_own`](crate::Run::is_own).
    pub(crate) fn is_own(self) -> bool {
        match self {
            Self::Late
            | Self::Unsent
            | Self::Cpu
            | Self::Descriptors
            | Self::Ports
            | Self::Memory
            | Self::CutOff
            | Self::Unrecorded => true,
            Self::Bytes | Self::Balance | Self::ThinkTime | Self::Stuck | Self::NothingAnswered => false,
        }
    }
}

/// Tolerated share of late starts, of unsent requests, and of responses with wrong bytes.
const TOLERATED: f64 = 0.01;
/// Maximum share of its time that a thread may be busy and still have time to spare.
const BUSY_MAX: f64 = 0.95;
/// Maximum share of its time that a thread may wait for a CPU. Above it, the run does not measure the server
/// alone.
const RUN_DELAY_MAX: f64 = 0.10;
/// Minimum available memory, in bytes. Below it, the kernel begins to reclaim memory from other programs.
const MEMORY_MIN: u64 = 64 << 20;
/// Tolerated deviation of a server's share, in addition to the random error.
const BALANCE_TOLERATED: f64 = 0.05;

/// Returns every flaw of a run. `facts` is `None` if the run did not reach its end.
pub(crate) fn flaws(head: &Head, tally: &Tally, facts: Option<&Facts>, servers: &[String]) -> Vec<Flaw> {
    let mut flaws = Vec::new();
    let mut add = |kind, text: String| flaws.push(Flaw { kind, text });
    match facts {
        None => add(
            FlawKind::CutOff,
            "the result file ends before the run does: its program was killed, or the disk was full"
                .to_owned(),
        ),
        Some(facts) if facts.stopped => {
            add(FlawKind::CutOff, "the run was stopped before its end".to_owned());
        }
        Some(_) => {}
    }
    if head.mode.has_schedule() {
        schedule(tally, facts, &mut add);
    }
    if let Some(facts) = facts {
        resources(facts, &mut add);
        let timeouts = tally.failed_by(|fault| fault == Fault::Timeout);
        if timeouts > 0 && facts.silence_ns as f64 >= head.timeout_s * 0.9e9 {
            add(
                FlawKind::Stuck,
                format!(
                    "the server was stuck: requests were under way and not a byte came for {}",
                    units::time(facts.silence_ns)
                ),
            );
        }
    }
    for (fault, kind) in [
        (Fault::Descriptors, FlawKind::Descriptors),
        (Fault::Ports, FlawKind::Ports),
        (Fault::Memory, FlawKind::Memory),
        (Fault::Body, FlawKind::Bytes),
    ] {
        let count = tally.failed_by(|other| other == fault);
        if count > 0 {
            add(kind, format!("{fault}: {count} of {} requests failed", tally.all.sent));
        }
    }
    bytes(head, tally, &mut add);
    if tally.all.answered == 0 {
        add(FlawKind::NothingAnswered, "not one request was answered".to_owned());
    }
    if let Some(think_ns) = head.expected.think_ns
        && tally.too_soon as f64 > tally.all.succeeded as f64 * TOLERATED
    {
        add(
            FlawKind::ThinkTime,
            format!(
                "{} of {} answers came sooner than the {} that the server should take: half of them within {}",
                tally.too_soon,
                tally.all.succeeded,
                units::time(think_ns),
                units::time(tally.waiting.quantile_ns(0.5)),
            ),
        );
    }
    if let Some(balance) = &head.expected.balance
        && let Some(text) = imbalance(balance, tally, servers)
    {
        add(FlawKind::Balance, text);
    }
    flaws
}

/// Requests without the expected response.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ServerFailures {
    /// True if so few requests failed that the server did not fail.
    pub(crate) is_tolerated: bool,
    /// Number of failures, with reasons.
    pub(crate) text: String,
}

/// Returns the failures of the server; `None` = it had none. Failures from a lack of resources on this
/// machine do not count.
pub(crate) fn server_failures(head: &Head, tally: &Tally, facts: Option<&Facts>) -> Option<ServerFailures> {
    let is_own = |fault: Fault| matches!(fault, Fault::Descriptors | Fault::Ports | Fault::Memory);
    let sent = tally.all.sent;
    let failed = (sent - tally.all.succeeded.min(sent)).saturating_sub(tally.failed_by(is_own));
    let unasked = facts.map_or(0, |facts| facts.unasked);
    let failed = (failed + unasked).min(sent);
    if failed == 0 {
        return None;
    }
    let statuses = tally
        .statuses
        .iter()
        .enumerate()
        .skip(1)
        .filter(|(status, count)| **count > 0 && !head.expected.accepts(*status as u16));
    let mut reasons: Vec<(u64, String)> =
        statuses.map(|(status, count)| (*count, format!("status {status}"))).collect();
    let faults = tally.faults().filter(|(fault, count)| *count > 0 && !is_own(*fault));
    reasons.extend(faults.map(|(fault, count)| (count, fault.to_string())));
    if unasked > 0 {
        reasons.push((unasked, "bytes that no request asked for came after the answer".to_owned()));
    }
    reasons.sort_by_key(|(count, _)| std::cmp::Reverse(*count));
    let reasons: Vec<String> =
        reasons.into_iter().map(|(count, reason)| format!("{count} times {reason}")).collect();
    // Multiplies before it divides, which avoids the rounding error of a difference of fractions.
    let may_fail = sent as f64 * (100.0 - head.expected.success_min_percent) / 100.0;
    Some(ServerFailures {
        is_tolerated: failed as f64 <= may_fail + 1e-6,
        text: format!(
            "{failed} of {sent} requests ({}) were not answered as expected: {}",
            percent(failed, sent),
            reasons.join("; ")
        ),
    })
}

/// Describes the CPU quota that was used up, if there is one.
pub(crate) fn quota(facts: &Facts) -> Option<String> {
    let quota = facts.quota.as_ref().filter(|quota| quota.throttled > 0)?;
    Some(format!(
        "the CPU quota of control group {} ({} CPUs) was used up in {} of {} periods",
        quota.group,
        units::number(quota.cpus),
        quota.throttled,
        quota.periods
    ))
}

/// Returns the reason why a thread could not start requests on time, if its own work was not the reason.
fn busy_machine(facts: &Facts) -> Option<String> {
    const NOTED: f64 = 0.01;
    let share = |ns: u64, wall_ns: u64| ns as f64 / wall_ns.max(1) as f64;
    let waited = facts.threads.iter().map(|thread| share(thread.run_delay_ns.unwrap_or(0), thread.wall_ns));
    let stood = facts.threads.iter().map(|thread| share(thread.stalled_ns, thread.wall_ns));
    let (waited, stood) = (waited.fold(0.0, f64::max), stood.fold(0.0, f64::max));
    match () {
        () if waited > NOTED => Some(format!(
            "the machine was busy: a thread waited for a CPU for {:.1}% of its time",
            waited * 100.0
        )),
        () if stood > NOTED => Some(format!("a thread stood still for {:.1}% of its time", stood * 100.0)),
        () => None,
    }
}

fn schedule(tally: &Tally, facts: Option<&Facts>, add: &mut impl FnMut(FlawKind, String)) {
    let sent = tally.all.sent;
    if tally.late as f64 > sent as f64 * TOLERATED {
        let starved = tally.late_starved;
        let starved = (starved > 0).then(|| format!("{starved} of them because all connections were in use"));
        let quota = facts.and_then(quota).map(|quota| format!("{quota}; raise it"));
        let causes = starved.into_iter().chain(quota.or_else(|| facts.and_then(busy_machine)));
        let cause: String = causes.map(|cause| format!("; {cause}")).collect();
        add(
            FlawKind::Late,
            format!(
                "the schedule was not kept: {} of {sent} starts ({}) were over 1 ms late, the latest by {}{cause}",
                tally.late,
                percent(tally.late, sent),
                units::time(tally.delay.max_ns()),
            ),
        );
    }
    if let Some(facts) = facts
        && facts.unsent as f64 > facts.due as f64 * TOLERATED
    {
        add(
            FlawKind::Unsent,
            format!(
                "only {} of {} requests ({}) were sent",
                facts.due - facts.unsent,
                facts.due,
                percent(facts.due - facts.unsent, facts.due)
            ),
        );
    }
}

fn resources(facts: &Facts, add: &mut impl FnMut(FlawKind, String)) {
    let quota = quota(facts);
    let cause = |others: &str| match &quota {
        Some(quota) => quota.clone(),
        None => format!("{others}, or a quota was used up"),
    };
    for (at, thread) in facts.threads.iter().enumerate() {
        let wall = thread.wall_ns.max(1) as f64;
        let busy = thread.busy_ns as f64 / wall;
        if busy > BUSY_MAX {
            add(
                FlawKind::Cpu,
                format!(
                    "the generator was the limit: thread {at} was busy for {:.1}% of its time; give it more --threads",
                    busy * 100.0
                ),
            );
        }
        let delayed = thread.run_delay_ns.unwrap_or(0) as f64 / wall;
        if delayed > RUN_DELAY_MAX {
            add(
                FlawKind::Cpu,
                format!(
                    "the generator was kept waiting for a CPU: thread {at} for {:.1}% of its time ({})",
                    delayed * 100.0,
                    cause("others were running")
                ),
            );
        }
        let stalled = thread.stalled_ns as f64 / wall;
        if stalled > RUN_DELAY_MAX && delayed <= RUN_DELAY_MAX {
            add(
                FlawKind::Cpu,
                format!(
                    "the generator stood still: thread {at} for {:.1}% of its time ({})",
                    stalled * 100.0,
                    cause("it was stopped")
                ),
            );
        }
    }
    if let Some(bytes) = facts.memory_available_min.filter(|bytes| *bytes < MEMORY_MIN) {
        add(
            FlawKind::Memory,
            format!(
                "memory ran short: {} MiB could be had at the least, on the machine or within the limit of a control group",
                bytes >> 20
            ),
        );
    }
    if facts.unrecorded > 0 {
        let text =
            format!("{} requests are missing in the result file: its disk did not keep up", facts.unrecorded);
        add(FlawKind::Unrecorded, text);
    }
}

fn bytes(head: &Head, tally: &Tally, add: &mut impl FnMut(FlawKind, String)) {
    let sent = tally.all.sent;
    let wrong = tally.failed_by(Fault::is_wrong_bytes);
    let is_of_checksums =
        |fault| matches!(fault, Fault::Checksum | Fault::NoChecksum | Fault::UploadChecksum);
    let checksums = tally.failed_by(is_of_checksums);
    if checksums > 0 || wrong as f64 > sent as f64 * TOLERATED {
        let faults = tally.faults().filter(|(fault, _)| fault.is_wrong_bytes());
        let faults: Vec<String> = faults.map(|(fault, count)| format!("{count} times: {fault}")).collect();
        add(FlawKind::Bytes, format!("bytes are not what they should be: {}", faults.join("; ")));
    }
    let Some(each) = head.expected.body_bytes else { return };
    let expected = u128::from(each) * u128::from(tally.all.succeeded);
    let got = u128::from(tally.all.bytes_of_successes);
    if got.abs_diff(expected) as f64 > expected as f64 * TOLERATED {
        add(
            FlawKind::Bytes,
            format!(
                "bytes are not rate x time: {} answers of {each} bytes are {expected} bytes, and {got} came",
                tally.all.succeeded
            ),
        );
    }
    let planned = head.requests.map(|requests| u128::from(requests) * u128::from(each));
    if let (Some(planned), Mode::Open { .. } | Mode::Replay { .. }) = (planned, &head.mode)
        && (got as f64) < planned as f64 * (1.0 - TOLERATED)
        && got.abs_diff(expected) as f64 <= expected as f64 * TOLERATED
    {
        add(
            FlawKind::Bytes,
            format!("bytes are not rate x time: {planned} bytes were asked for, and {got} came"),
        );
    }
}

fn imbalance(balance: &Balance, tally: &Tally, servers: &[String]) -> Option<String> {
    let total: u64 = tally.servers.iter().map(|(requests, _)| requests).sum();
    let named = || servers.iter().zip(&tally.servers).filter(|(_, (requests, _))| *requests > 0);
    let shown = || {
        let all = named().map(|(name, (requests, _))| format!("{name} {requests}"));
        all.take(12).collect::<Vec<_>>().join(", ")
    };
    if (total as f64) < tally.all.answered as f64 * (1.0 - TOLERATED) {
        return Some(format!(
            "{} of {} answers do not tell which server they are from",
            tally.all.answered - total,
            tally.all.answered
        ));
    }
    let requests_of = |name: &str| named().find(|(other, _)| *other == name).map_or(0, |(_, got)| got.0);
    let expected: Vec<(String, f64)> = match balance {
        Balance::Equal(count) => {
            let found = named().count();
            if *count > 0 && found != *count || found < 2 {
                let meant = if *count > 0 { count.to_string() } else { "at least 2".to_owned() };
                return Some(format!(
                    "requests per server are not as expected: {found} servers answered ({}), not {meant}",
                    shown()
                ));
            }
            named().map(|(name, _)| (name.clone(), 1.0 / found as f64)).collect()
        }
        Balance::Each(count) => {
            let found = named().count();
            let is_off = found < *count && total >= Balance::EACH_MIN * *count as u64;
            return is_off.then(|| {
                format!(
                    "requests per server are not as expected: {found} servers answered ({}), each of {count} should have got some",
                    shown()
                )
            });
        }
        Balance::One => {
            let most = named().map(|(_, (requests, _))| *requests).max().unwrap_or(0);
            // A request without a response from one server may have been retried on another.
            return ((total - most) as f64 > total as f64 * TOLERATED).then(|| {
                format!(
                    "requests per server are not as expected: {} servers answered ({}), not one",
                    named().count(),
                    shown()
                )
            });
        }
        Balance::Shares(shares) => shares.clone(),
        Balance::InTurn(turns) => turns.shares(),
    };
    let is_known = |name: &str| expected.iter().any(|(other, _)| other == name);
    if let Some((name, got)) = named().find(|(name, _)| !is_known(name)) {
        return Some(format!("requests per server are not as expected: {} of {total} went to {name}", got.0));
    }
    // Each request without a response used a turn, and so did retries that the client cannot see. Retries are
    // few, so 1% covers them.
    let lost = tally.all.sent.saturating_sub(total) as f64 + total as f64 * TOLERATED;
    let is_off = |(at, (name, share)): &(usize, &(String, f64))| {
        let meant = share * total as f64;
        let tolerated = match balance {
            Balance::InTurn(turns) => turns.off_by(*at) + lost,
            // Random selection stays within three standard deviations.
            _ => (meant * BALANCE_TOLERATED + 3.0 * (meant * (1.0 - share)).sqrt()).max(1.0),
        };
        (requests_of(name) as f64 - meant).abs() > tolerated + 1e-6
    };
    let (_, (name, share)) = expected.iter().enumerate().find(is_off)?;
    Some(format!(
        "requests per server are not as expected: {name} answered {} of {total}, not {:.0} ({})",
        requests_of(name),
        share * total as f64,
        shown()
    ))
}

/// Formats a share in percent, with more digits if it is tiny.
pub(crate) fn percent(part: u64, of: u64) -> String {
    let share = if of == 0 { 0.0 } else { part as f64 / of as f64 * 100.0 };
    if share > 0.0 && share < 0.1 { format!("{share:.4}%") } else { format!("{share:.2}%") }
}
