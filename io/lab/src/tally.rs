//! Counts and latencies of all requests of a run.

use weir_stats::NanosHistogram;

use crate::facts::Expected;
use crate::gaps::Answered;
use crate::record::{Fault, Record};
use crate::windows::Windows;

/// Counts and latencies of all requests. Its memory does not grow with their number.
#[derive(Debug, Clone)]
pub struct Tally {
    expected: Expected,
    pub(crate) all: Counts,
    /// Counts per target. The last entry has all further targets together.
    pub(crate) targets: Vec<Counts>,
    /// Requests and bytes per server, by index in the run's list of servers.
    pub(crate) servers: Vec<(u64, u64)>,
    /// Latencies from the start of requests.
    pub(crate) raw: NanosHistogram,
    pub(crate) connect: NanosHistogram,
    pub(crate) waiting: NanosHistogram,
    pub(crate) processing: NanosHistogram,
    pub(crate) transfer: NanosHistogram,
    /// Times from due time to failure, of failed requests.
    pub(crate) failed: NanosHistogram,
    /// Requests per status; 0 = no response.
    pub(crate) statuses: Box<[u64]>,
    /// Failed requests per index in [`Fault::ALL`].
    pub(crate) faults: [u64; Fault::ALL.len()],
    /// Delays of starts.
    pub(crate) delay: NanosHistogram,
    /// Requests that started more than [`LATE_NS`] late.
    pub(crate) late: u64,
    /// Late requests for which all connections were in use.
    pub(crate) late_starved: u64,
    /// Responses that came sooner than the server should have sent them.
    pub(crate) too_soon: u64,
    /// Uploads for which the server reported the correct checksum.
    pub(crate) verified: u64,
    /// Uploads for which the server reported no checksum.
    pub(crate) unverified: u64,
    pub(crate) bytes_out: u64,
    /// Bytes of request bodies, included in `bytes_out`.
    pub(crate) bodies_out: u64,
    pub(crate) head_in: u64,
    pub(crate) first_start_ns: u64,
    pub(crate) last_start_ns: u64,
    pub(crate) last_end_ns: u64,
    /// Responses per [`SAMPLE_NS`].
    pub(crate) samples: Vec<u64>,
    pub(crate) windows: Windows,
    /// Completion times of expected responses.
    pub(crate) successes: Answered,
    /// First and last due time of requests that failed or got an unexpected status.
    pub(crate) failures_ns: Option<(u64, u64)>,
}

/// Numbers of requests, and their latencies.
#[derive(Debug, Clone)]
pub(crate) struct Counts {
    pub(crate) sent: u64,
    pub(crate) answered: u64,
    /// Requests with a response of an expected status.
    pub(crate) succeeded: u64,
    pub(crate) bytes_in: u64,
    /// Smallest body of a successful response, in bytes.
    pub(crate) body_min: u64,
    pub(crate) body_max: u64,
    pub(crate) bytes_of_successes: u64,
    /// Latencies of answered requests from the due time.
    pub(crate) latency: NanosHistogram,
}

/// Delay above which a start is late.
pub(crate) const LATE_NS: u64 = 1_000_000;
/// Interval of the samples of reply rates.
pub(crate) const SAMPLE_NS: u64 = 5_000_000_000;
/// Maximum number of targets that are counted separately.
pub(crate) const TARGETS_MAX: usize = 64;
/// Maximum number of servers that are counted separately.
pub(crate) const SERVERS_MAX: usize = 1_000;
const SAMPLES_MAX: usize = 1 << 20;

impl Tally {
    /// Creates an empty tally for `targets` targets.
    pub fn new(targets: usize, expected: &Expected) -> Self {
        Self {
            expected: expected.clone(),
            all: Counts::new(),
            targets: if targets > 1 { vec![Counts::new(); targets.min(TARGETS_MAX)] } else { Vec::new() },
            servers: Vec::new(),
            raw: NanosHistogram::new(),
            connect: NanosHistogram::new(),
            waiting: NanosHistogram::new(),
            processing: NanosHistogram::new(),
            transfer: NanosHistogram::new(),
            failed: NanosHistogram::new(),
            statuses: vec![0; 1_000].into(),
            faults: [0; Fault::ALL.len()],
            delay: NanosHistogram::new(),
            late: 0,
            late_starved: 0,
            too_soon: 0,
            verified: 0,
            unverified: 0,
            bytes_out: 0,
            bodies_out: 0,
            head_in: 0,
            first_start_ns: u64::MAX,
            last_start_ns: 0,
            last_end_ns: 0,
            samples: Vec::new(),
            windows: Windows::new(),
            successes: Answered::default(),
            failures_ns: None,
        }
    }

    /// Counts one request.
    pub fn add(&mut self, record: &Record) {
        let is_success = record.fault.is_none() && self.expected.accepts(record.status);
        self.all.add(record, is_success);
        if let Some(last) = self.targets.len().checked_sub(1) {
            self.targets[(record.target as usize).min(last)].add(record, is_success);
        }
        self.first_start_ns = self.first_start_ns.min(record.start_ns);
        self.last_start_ns = self.last_start_ns.max(record.start_ns);
        self.last_end_ns = self.last_end_ns.max(record.end_ns);
        self.bytes_out += record.bytes_out;
        self.bodies_out += record.bytes_out.saturating_sub(u64::from(record.head_out));
        self.head_in += u64::from(record.head_in);
        self.verified += u64::from(record.verified == Some(true));
        self.unverified += u64::from(record.verified == Some(false));
        self.delay.record(record.delay_ns());
        if record.delay_ns() > LATE_NS {
            self.late += 1;
            self.late_starved += u64::from(record.starved);
        }
        // A fault makes a request fail whatever its status was.
        let status = if record.fault.is_some() { 0 } else { record.status.min(999) };
        self.statuses[usize::from(status)] += 1;
        self.windows.add(record, is_success);
        if is_success {
            self.successes.add(record.end_ns);
        } else {
            self.failures_ns = widest(self.failures_ns, Some((record.due_ns, record.due_ns)));
        }
        if let Some(connect) = record.connect_ns() {
            self.connect.record(connect);
        }
        match record.fault {
            Some(fault) => {
                self.faults[fault as usize] += 1;
                self.failed.record(record.latency_ns());
            }
            None => self.add_answer(record, is_success),
        }
    }

    fn add_answer(&mut self, record: &Record, is_success: bool) {
        self.raw.record(record.raw_ns());
        self.waiting.record(record.waiting_ns());
        self.processing.record(record.processing_ns());
        self.transfer.record(record.transfer_ns());
        if is_success && self.expected.think_ns.is_some_and(|think| record.waiting_ns() < think) {
            self.too_soon += 1;
        }
        let sample = (record.end_ns / SAMPLE_NS) as usize;
        if sample < SAMPLES_MAX {
            if sample >= self.samples.len() {
                self.samples.resize(sample + 1, 0);
            }
            self.samples[sample] += 1;
        }
        if let Some(server) = record.server.map(|server| server as usize).filter(|at| *at < SERVERS_MAX) {
            if server >= self.servers.len() {
                self.servers.resize(server + 1, (0, 0));
            }
            self.servers[server].0 += 1;
            self.servers[server].1 += record.bytes_in;
        }
    }

    /// Adds the counts of another thread.
    pub fn merge(&mut self, other: &Self) {
        self.all.merge(&other.all);
        self.targets.iter_mut().zip(&other.targets).for_each(|(mine, theirs)| mine.merge(theirs));
        if self.servers.len() < other.servers.len() {
            self.servers.resize(other.servers.len(), (0, 0));
        }
        for (mine, theirs) in self.servers.iter_mut().zip(&other.servers) {
            *mine = (mine.0 + theirs.0, mine.1 + theirs.1);
        }
        self.raw.merge(&other.raw);
        self.connect.merge(&other.connect);
        self.waiting.merge(&other.waiting);
        self.processing.merge(&other.processing);
        self.transfer.merge(&other.transfer);
        self.failed.merge(&other.failed);
        self.delay.merge(&other.delay);
        self.statuses.iter_mut().zip(&other.statuses).for_each(|(mine, theirs)| *mine += theirs);
        self.faults.iter_mut().zip(&other.faults).for_each(|(mine, theirs)| *mine += theirs);
        self.late += other.late;
        self.late_starved += other.late_starved;
        self.too_soon += other.too_soon;
        self.verified += other.verified;
        self.unverified += other.unverified;
        self.bytes_out += other.bytes_out;
        self.bodies_out += other.bodies_out;
        self.head_in += other.head_in;
        self.first_start_ns = self.first_start_ns.min(other.first_start_ns);
        self.last_start_ns = self.last_start_ns.max(other.last_start_ns);
        self.last_end_ns = self.last_end_ns.max(other.last_end_ns);
        if self.samples.len() < other.samples.len() {
            self.samples.resize(other.samples.len(), 0);
        }
        self.samples.iter_mut().zip(&other.samples).for_each(|(mine, theirs)| *mine += theirs);
        self.windows.merge(&other.windows);
        self.successes.merge(&other.successes);
        self.failures_ns = widest(self.failures_ns, other.failures_ns);
    }

    /// Returns the time from the first failed request to the last, by due time, in milliseconds. At least 1,
    /// also if there is no failure or only one.
    pub(crate) fn failures_lasted_ms(&self) -> u64 {
        self.failures_ns.map_or(1, |(first, last)| ((last - first) / 1_000_000).max(1))
    }

    pub(crate) fn faults(&self) -> impl Iterator<Item = (Fault, u64)> + '_ {
        Fault::ALL.into_iter().zip(self.faults).filter(|(_, count)| *count > 0)
    }

    /// Returns the number of requests that failed for one of these reasons.
    pub(crate) fn failed_by(&self, is_one: impl Fn(Fault) -> bool) -> u64 {
        self.faults().filter(|(fault, _)| is_one(*fault)).map(|(_, count)| count).sum()
    }
}

/// Returns the smallest span that contains both spans.
fn widest(one: Option<(u64, u64)>, other: Option<(u64, u64)>) -> Option<(u64, u64)> {
    match (one, other) {
        (Some(one), Some(other)) => Some((one.0.min(other.0), one.1.max(other.1))),
        (one, other) => one.or(other),
    }
}

impl Counts {
    pub(crate) fn new() -> Self {
        Self {
            sent: 0,
            answered: 0,
            succeeded: 0,
            bytes_in: 0,
            body_min: u64::MAX,
            body_max: 0,
            bytes_of_successes: 0,
            latency: NanosHistogram::new(),
        }
    }

    fn add(&mut self, record: &Record, is_success: bool) {
        self.sent += 1;
        self.bytes_in += record.bytes_in;
        if record.fault.is_none() {
            self.answered += 1;
            self.latency.record(record.latency_ns());
        }
        if is_success {
            self.succeeded += 1;
            self.bytes_of_successes += record.bytes_in;
            self.body_min = self.body_min.min(record.bytes_in);
            self.body_max = self.body_max.max(record.bytes_in);
        }
    }

    fn merge(&mut self, other: &Self) {
        self.sent += other.sent;
        self.answered += other.answered;
        self.succeeded += other.succeeded;
        self.bytes_in += other.bytes_in;
        self.bytes_of_successes += other.bytes_of_successes;
        self.body_min = self.body_min.min(other.body_min);
        self.body_max = self.body_max.max(other.body_max);
        self.latency.merge(&other.latency);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failures_last_from_the_first_to_the_last_of_all_threads() {
        const MS: u64 = 1_000_000;
        let of = |failed: &[u64]| {
            let mut tally = Tally::new(1, &Expected::default());
            for due_ms in 0..1_000 {
                let status = if failed.contains(&due_ms) { 503 } else { 200 };
                tally.add(&Record { due_ns: due_ms * MS, status, ..Record::default() });
            }
            tally
        };
        assert_eq!(of(&[]).failures_lasted_ms(), 1);
        assert_eq!(of(&[7]).failures_lasted_ms(), 1);
        let mut both = of(&[300, 500]);
        both.merge(&of(&[]));
        assert_eq!(both.failures_lasted_ms(), 200);
        both.merge(&of(&[100, 400]));
        assert_eq!(both.failures_lasted_ms(), 400);
    }
}
