//! The result of a run, for reports and as JSON for programs.

use serde::Serialize;
use weir_stats::NanosHistogram;

use crate::facts::{Facts, Head};
use crate::judge::{self, Flaw, FlawKind};
use crate::run_file::{Ends, RunFileError, read_run};
use crate::tally::{Counts, SAMPLE_NS, TARGETS_MAX, Tally};
use crate::windows::Moment;

/// Result of a run.
#[derive(Debug, Clone)]
pub struct Run {
    /// Settings of the run.
    pub head: Head,
    /// Counts and latencies of the requests.
    pub tally: Tally,
    /// Measurements that the generator made of itself; `None` = the run did not reach its end.
    pub facts: Option<Facts>,
    /// Names of servers.
    pub servers: Vec<String>,
}

/// Summary of a run for programs. Times are in milliseconds unless a field says otherwise.
#[derive(Debug, Clone, Serialize)]
pub struct Summary {
    /// True if the run is valid.
    pub valid: bool,
    /// Reasons why the run is invalid.
    pub flaws: Vec<Flaw>,
    /// Flaws that were accepted beforehand.
    pub marks: Vec<Flaw>,
    /// Failures of the server; `None` = the required share of requests got the expected response (by default
    /// 99%).
    pub server_failed: Option<String>,
    /// Failures of the server within the tolerated number.
    pub tolerated_failures: Option<String>,
    /// Settings of the run.
    pub asked: Head,
    /// Numbers and rates of requests.
    pub requests: Requests,
    /// Times from due time to last byte, of requests with a complete response.
    pub latency_ms: Times,
    /// Times from start to last byte.
    pub raw_latency_ms: Times,
    /// Times to connect, of requests that opened a connection.
    pub connect_ms: Times,
    /// Times from the established connection to the first byte.
    pub waiting_ms: Times,
    /// Times from the established connection to the last byte.
    pub processing_ms: Times,
    /// Times from the first byte to the last.
    pub transfer_ms: Times,
    /// Times from due time to failure, of failed requests.
    pub failed_ms: Times,
    /// Delays of starts.
    pub start_delay_ms: Times,
    /// Amounts of data.
    pub bytes: Bytes,
    /// Verification of uploads; `None` = no check was requested, or no upload was accepted.
    pub uploads: Option<Uploads>,
    /// Number of responses per status.
    pub statuses: Vec<(u16, u64)>,
    /// Number of failed requests per reason.
    pub faults: Vec<(String, u64)>,
    /// Results per target, if there are several.
    pub targets: Vec<Part>,
    /// Results per server, if responses name their servers.
    pub servers: Vec<Server>,
    /// Responses per second in each full sample of five seconds, as httperf counts them.
    pub reply_rates: Vec<f64>,
    /// Results per interval of time.
    pub moments: Vec<Moment>,
    /// Measurements that the generator made of itself.
    pub facts: Option<Facts>,
}

/// Numbers and rates of requests.
#[derive(Debug, Clone, Serialize)]
pub struct Requests {
    /// Requests that were sent.
    pub sent: u64,
    /// Requests with a complete response.
    pub answered: u64,
    /// Requests with a response of an expected status.
    pub succeeded: u64,
    /// Requests that started over 1 ms late.
    pub late: u64,
    /// Sent requests per second of the time in which requests were started.
    pub sent_per_s: f64,
    /// Complete responses per second of the whole run.
    pub answered_per_s: f64,
    /// Expected responses per second of the whole run.
    pub succeeded_per_s: f64,
}

/// Amounts of data, in bytes.
#[derive(Debug, Clone, Serialize)]
pub struct Bytes {
    /// Bytes of response bodies.
    pub bodies_in: u64,
    /// Bytes of response heads.
    pub heads_in: u64,
    /// Bytes of requests.
    pub out: u64,
    /// Bytes of response bodies per second of the whole run.
    pub in_per_s: f64,
}

/// Accepted uploads that should be verified. Uploads with a wrong checksum count as faults.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Uploads {
    /// Uploads for which the server reported the correct checksum.
    pub verified: u64,
    /// Uploads for which the server reported no comparable checksum.
    pub unverified: u64,
}

/// Distribution of times.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Times {
    /// Number of values.
    pub count: u64,
    /// Minimum.
    pub min: f64,
    /// Mean.
    pub mean: f64,
    /// Standard deviation.
    pub deviation: f64,
    /// Median.
    pub p50: f64,
    /// 90th percentile.
    pub p90: f64,
    /// 95th percentile.
    pub p95: f64,
    /// 99th percentile.
    pub p99: f64,
    /// 99.9th percentile.
    pub p999: f64,
    /// Maximum.
    pub max: f64,
}

/// Results of one target.
#[derive(Debug, Clone, Serialize)]
pub struct Part {
    /// Method and URL of the target.
    pub name: String,
    /// Requests that were sent.
    pub sent: u64,
    /// Requests with a complete response.
    pub answered: u64,
    /// Requests with a response of an expected status.
    pub succeeded: u64,
    /// Bytes of response bodies.
    pub bytes_in: u64,
    /// Times from due time to last byte, in milliseconds.
    pub latency_ms: Times,
}

/// Results of one server.
#[derive(Debug, Clone, Serialize)]
pub struct Server {
    /// Name of the server in its responses.
    pub name: String,
    /// Requests that the server answered.
    pub requests: u64,
    /// Share of all answered requests.
    pub share: f64,
    /// Bytes of the server's response bodies.
    pub bytes: u64,
}

impl Run {
    /// Reads a result file.
    ///
    /// # Errors
    /// If the input is not a result file.
    pub fn read(input: &mut dyn std::io::BufRead) -> Result<Self, RunFileError> {
        let mut tally: Option<Tally> = None;
        let Ends { head, facts, servers } = read_run(input, |head, record| {
            tally.get_or_insert_with(|| Tally::new(head.targets.len(), &head.expected)).add(record);
        })?;
        let tally = tally.unwrap_or_else(|| Tally::new(head.targets.len(), &head.expected));
        Ok(Self { head, tally, facts, servers })
    }

    /// Returns the reasons why the run is invalid; empty = it is valid.
    pub fn flaws(&self) -> Vec<Flaw> {
        self.judged().0
    }

    /// Returns the flaws that were accepted beforehand.
    pub fn marks(&self) -> Vec<Flaw> {
        self.judged().1
    }

    /// Returns the failures of the server, if more requests failed than are tolerated. This verdict is
    /// independent of the generator's own flaws.
    pub fn server_failed(&self) -> Option<String> {
        self.failures(false)
    }

    /// Returns the failures of the server, if no more requests failed than are tolerated.
    pub fn tolerated_failures(&self) -> Option<String> {
        self.failures(true)
    }

    fn failures(&self, are_tolerated: bool) -> Option<String> {
        let failures = judge::server_failures(&self.head, &self.tally, self.facts.as_ref());
        failures.filter(|failures| failures.is_tolerated == are_tolerated).map(|failures| failures.text)
    }

    /// Returns the flaws that count, and the accepted ones.
    fn judged(&self) -> (Vec<Flaw>, Vec<Flaw>) {
        let flaws = judge::flaws(&self.head, &self.tally, self.facts.as_ref(), &self.servers);
        let is_accepted = |flaw: &Flaw| {
            self.head.expected.accept_late && matches!(flaw.kind, FlawKind::Late | FlawKind::Cpu)
        };
        flaws.into_iter().partition(|flaw| !is_accepted(flaw))
    }

    /// Returns the shortest latency from the due time that at least the share `quantile` (0 to 1) of the
    /// answered requests do not exceed, in milliseconds. `None` = the run has no responses.
    pub fn latency_quantile_ms(&self, quantile: f64) -> Option<f64> {
        let latency = &self.tally.all.latency;
        (latency.count() > 0).then(|| latency.quantile_ns(quantile) as f64 / 1e6)
    }

    /// Returns true if the generator or its machine caused the flaw, so that it says nothing about the
    /// server. If starts were late because all connections were in use, the server is slow and not the
    /// generator.
    pub fn is_own(&self, flaw: &Flaw) -> bool {
        let is_starved = self.tally.late_starved * 2 > self.tally.late;
        flaw.kind.is_own() && !(is_starved && matches!(flaw.kind, FlawKind::Late | FlawKind::Unsent))
    }

    /// Returns the time during which requests were started, in seconds: the planned time, or the time from
    /// the first start to the last.
    pub(crate) fn attack_s(&self) -> f64 {
        let planned =
            self.head.duration_s.filter(|_| self.facts.as_ref().is_some_and(|facts| !facts.stopped));
        let seen =
            self.tally.last_start_ns.saturating_sub(self.tally.first_start_ns.min(self.tally.last_start_ns));
        match planned.filter(|_| self.head.mode.has_schedule()) {
            // If the generator did not keep the schedule, starts took longer than planned.
            Some(planned) => planned.max(self.tally.last_start_ns as f64 / 1e9),
            None => seen as f64 / 1e9,
        }
        .max(1e-9)
    }

    /// Returns the time from the start to the last response, in seconds.
    pub(crate) fn wall_s(&self) -> f64 {
        let seen = self.tally.last_end_ns.max(1) as f64 / 1e9;
        if self.head.mode.has_schedule() { seen.max(self.attack_s()) } else { seen }
    }

    /// Returns the responses per second in each full sample of 5 seconds.
    pub(crate) fn reply_rates(&self) -> Vec<f64> {
        let full = (self.tally.last_end_ns / SAMPLE_NS) as usize;
        let samples = self.tally.samples.iter().take(full);
        samples.map(|replies| *replies as f64 / (SAMPLE_NS as f64 / 1e9)).collect()
    }

    /// Returns the verification of uploads; `None` = no check was requested, or no upload was accepted.
    pub fn uploads(&self) -> Option<Uploads> {
        let Tally { verified, unverified, .. } = self.tally;
        (verified + unverified > 0).then_some(Uploads { verified, unverified })
    }

    /// Returns a summary for programs.
    pub fn summary(&self) -> Summary {
        let (tally, wall_s) = (&self.tally, self.wall_s());
        let (flaws, marks) = self.judged();
        let statuses = tally.statuses.iter().enumerate().skip(1).filter(|(_, count)| **count > 0);
        Summary {
            valid: flaws.is_empty(),
            flaws,
            marks,
            server_failed: self.server_failed(),
            tolerated_failures: self.tolerated_failures(),
            asked: self.head.clone(),
            requests: Requests {
                sent: tally.all.sent,
                answered: tally.all.answered,
                succeeded: tally.all.succeeded,
                late: tally.late,
                sent_per_s: tally.all.sent as f64 / self.attack_s(),
                answered_per_s: tally.all.answered as f64 / wall_s,
                succeeded_per_s: tally.all.succeeded as f64 / wall_s,
            },
            latency_ms: Times::of(&tally.all.latency),
            raw_latency_ms: Times::of(&tally.raw),
            connect_ms: Times::of(&tally.connect),
            waiting_ms: Times::of(&tally.waiting),
            processing_ms: Times::of(&tally.processing),
            transfer_ms: Times::of(&tally.transfer),
            failed_ms: Times::of(&tally.failed),
            start_delay_ms: Times::of(&tally.delay),
            bytes: Bytes {
                bodies_in: tally.all.bytes_in,
                heads_in: tally.head_in,
                out: tally.bytes_out,
                in_per_s: tally.all.bytes_in as f64 / wall_s,
            },
            uploads: self.uploads(),
            statuses: statuses.map(|(status, count)| (status as u16, *count)).collect(),
            faults: tally.faults().map(|(fault, count)| (fault.to_string(), count)).collect(),
            targets: self.parts(),
            servers: self.servers(),
            reply_rates: self.reply_rates(),
            moments: tally.windows.moments(),
            facts: self.facts.clone(),
        }
    }

    fn parts(&self) -> Vec<Part> {
        let names = self.head.targets.iter().enumerate().map(|(at, name)| {
            let others = self.head.targets.len().saturating_sub(TARGETS_MAX);
            if at + 1 == TARGETS_MAX && others > 0 {
                format!("{name} and {others} others")
            } else {
                name.clone()
            }
        });
        let part = |(name, counts): (String, &Counts)| Part {
            name,
            sent: counts.sent,
            answered: counts.answered,
            succeeded: counts.succeeded,
            bytes_in: counts.bytes_in,
            latency_ms: Times::of(&counts.latency),
        };
        names.zip(&self.tally.targets).map(part).collect()
    }

    fn servers(&self) -> Vec<Server> {
        let total: u64 = self.tally.servers.iter().map(|(requests, _)| requests).sum();
        let named = self.servers.iter().zip(&self.tally.servers).filter(|(_, (requests, _))| *requests > 0);
        let mut servers: Vec<Server> = named
            .map(|(name, (requests, bytes))| Server {
                name: name.clone(),
                requests: *requests,
                share: *requests as f64 / total.max(1) as f64,
                bytes: *bytes,
            })
            .collect();
        servers.sort_by(|a, b| a.name.cmp(&b.name));
        servers
    }
}

impl Times {
    fn of(histogram: &NanosHistogram) -> Self {
        let ms = |ns: u64| ns as f64 / 1e6;
        let quantile = |quantile| ms(histogram.quantile_ns(quantile));
        Self {
            count: histogram.count(),
            min: ms(histogram.min_ns()),
            mean: histogram.mean_ns() / 1e6,
            deviation: histogram.deviation_ns() / 1e6,
            p50: quantile(0.5),
            p90: quantile(0.9),
            p95: quantile(0.95),
            p99: quantile(0.99),
            p999: quantile(0.999),
            max: ms(histogram.max_ns()),
        }
    }
}
