//! A run, put together: for reports, and as JSON for programs.

use serde::Serialize;
use weir_stats::NanosHistogram;

use crate::facts::{Facts, Head};
use crate::judge::{self, Flaw, FlawKind};
use crate::run_file::{Ends, RunFileError, read_run};
use crate::tally::{Counts, SAMPLE_NS, TARGETS_MAX, Tally};
use crate::windows::Moment;

/// Everything that a run came to.
#[derive(Debug, Clone)]
pub struct Run {
    /// What was asked for.
    pub head: Head,
    /// What the requests came to.
    pub tally: Tally,
    /// What the run saw of itself; `None` = it did not come to its end.
    pub facts: Option<Facts>,
    /// Names of servers.
    pub servers: Vec<String>,
}

/// A run for programs. Times are in milliseconds unless they say otherwise.
#[derive(Debug, Clone, Serialize)]
pub struct Summary {
    /// Whether it may be believed.
    pub valid: bool,
    /// Why not.
    pub flaws: Vec<Flaw>,
    /// What would have made it invalid, and was accepted.
    pub marks: Vec<Flaw>,
    /// What the server did not do; `None` = as many requests were answered as expected as should be, by default 99%.
    pub server_failed: Option<String>,
    /// What it did not do, if that is tolerated.
    pub tolerated_failures: Option<String>,
    /// What was asked for.
    pub asked: Head,
    /// Requests.
    pub requests: Requests,
    /// From when requests were due to their last byte; of those that were answered.
    pub latency_ms: Times,
    /// From when they were sent.
    pub raw_latency_ms: Times,
    /// Time to connect, of those that did.
    pub connect_ms: Times,
    /// From a standing connection to the first byte.
    pub waiting_ms: Times,
    /// From a standing connection to the last byte.
    pub processing_ms: Times,
    /// From the first byte to the last.
    pub transfer_ms: Times,
    /// Requests that failed, from when they were due to when that was known.
    pub failed_ms: Times,
    /// How late requests were started.
    pub start_delay_ms: Times,
    /// Bytes.
    pub bytes: Bytes,
    /// What was verified of uploads; `None` = nobody asked, or none was taken.
    pub uploads: Option<Uploads>,
    /// How many answers had each status.
    pub statuses: Vec<(u16, u64)>,
    /// Why requests failed, and how many.
    pub faults: Vec<(String, u64)>,
    /// By target, if there are several.
    pub targets: Vec<Part>,
    /// By server, if they were told apart.
    pub servers: Vec<Server>,
    /// Replies per second in each full sample of five seconds, as httperf counts them.
    pub reply_rates: Vec<f64>,
    /// The run in pieces of time.
    pub moments: Vec<Moment>,
    /// What the run saw of itself.
    pub facts: Option<Facts>,
}

/// How many.
#[derive(Debug, Clone, Serialize)]
pub struct Requests {
    /// That were sent.
    pub sent: u64,
    /// That were answered completely.
    pub answered: u64,
    /// That were answered with an expected status.
    pub succeeded: u64,
    /// Starts over 1 ms late.
    pub late: u64,
    /// Sent per second, over the time in which requests were started.
    pub sent_per_s: f64,
    /// Answered per second, over the whole run.
    pub answered_per_s: f64,
    /// Answered as expected per second, over the whole run.
    pub succeeded_per_s: f64,
}

/// How much.
#[derive(Debug, Clone, Serialize)]
pub struct Bytes {
    /// Of answers' bodies.
    pub bodies_in: u64,
    /// Of answers' heads.
    pub heads_in: u64,
    /// Of requests.
    pub out: u64,
    /// Bodies per second, over the whole run.
    pub in_per_s: f64,
}

/// Uploads that were taken, where they were to be verified. Those with a wrong checksum are among the faults.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Uploads {
    /// The server told a checksum of what it got, which was that of what was sent.
    pub verified: u64,
    /// It told none that could be compared.
    pub unverified: u64,
}

/// A distribution.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Times {
    /// How many it is of.
    pub count: u64,
    /// The shortest.
    pub min: f64,
    /// The mean.
    pub mean: f64,
    /// The standard deviation.
    pub deviation: f64,
    /// Half are not longer.
    pub p50: f64,
    /// 90 of 100.
    pub p90: f64,
    /// 95 of 100.
    pub p95: f64,
    /// 99 of 100.
    pub p99: f64,
    /// 999 of 1000.
    pub p999: f64,
    /// The longest.
    pub max: f64,
}

/// What one target came to.
#[derive(Debug, Clone, Serialize)]
pub struct Part {
    /// Its method and URL.
    pub name: String,
    /// Requests that were sent.
    pub sent: u64,
    /// Answered completely.
    pub answered: u64,
    /// Answered with an expected status.
    pub succeeded: u64,
    /// Of answers' bodies.
    pub bytes_in: u64,
    /// From when requests were due to their last byte, in milliseconds.
    pub latency_ms: Times,
}

/// What one server came to.
#[derive(Debug, Clone, Serialize)]
pub struct Server {
    /// As the answer calls it.
    pub name: String,
    /// Requests that it answered.
    pub requests: u64,
    /// Of all that were answered.
    pub share: f64,
    /// Of its answers' bodies.
    pub bytes: u64,
}

impl Run {
    /// Reads a result file.
    ///
    /// # Errors
    /// It is none.
    pub fn read(input: &mut dyn std::io::BufRead) -> Result<Self, RunFileError> {
        let mut tally: Option<Tally> = None;
        let Ends { head, facts, servers } = read_run(input, |head, record| {
            tally.get_or_insert_with(|| Tally::new(head.targets.len(), &head.expected)).add(record);
        })?;
        let tally = tally.unwrap_or_else(|| Tally::new(head.targets.len(), &head.expected));
        Ok(Self { head, tally, facts, servers })
    }

    /// Why it may not be believed; empty = it may.
    pub fn flaws(&self) -> Vec<Flaw> {
        self.judged().0
    }

    /// What would have made it invalid, and was accepted beforehand.
    pub fn marks(&self) -> Vec<Flaw> {
        self.judged().1
    }

    /// What the server did not do, if more requests than are tolerated were not answered as expected: another verdict than whether the
    /// generator did what it was asked to.
    pub fn server_failed(&self) -> Option<String> {
        self.failures(false)
    }

    /// The same, if they are no more than are tolerated.
    pub fn tolerated_failures(&self) -> Option<String> {
        self.failures(true)
    }

    fn failures(&self, are_tolerated: bool) -> Option<String> {
        let failures = judge::server_failures(&self.head, &self.tally, self.facts.as_ref());
        failures.filter(|failures| failures.is_tolerated == are_tolerated).map(|failures| failures.text)
    }

    /// The flaws that count, and those that are accepted.
    fn judged(&self) -> (Vec<Flaw>, Vec<Flaw>) {
        let flaws = judge::flaws(&self.head, &self.tally, self.facts.as_ref(), &self.servers);
        let is_accepted = |flaw: &Flaw| {
            self.head.expected.accept_late && matches!(flaw.kind, FlawKind::Late | FlawKind::Cpu)
        };
        flaws.into_iter().partition(|flaw| !is_accepted(flaw))
    }

    /// The shortest latency, from when due, that at least the share `quantile` (0 to 1) of the answered requests do not exceed, in
    /// milliseconds; `None` = nothing was answered.
    pub fn latency_quantile_ms(&self, quantile: f64) -> Option<f64> {
        let latency = &self.tally.all.latency;
        (latency.count() > 0).then(|| latency.quantile_ns(quantile) as f64 / 1e6)
    }

    /// Whether a flaw of it is the generator's or its machine's own fault, so that nothing is known of who was asked. Where starts were
    /// late because all connections were in use the server is slow, and not the generator.
    pub fn is_own(&self, flaw: &Flaw) -> bool {
        let is_starved = self.tally.late_starved * 2 > self.tally.late;
        flaw.kind.is_own() && !(is_starved && matches!(flaw.kind, FlawKind::Late | FlawKind::Unsent))
    }

    /// How long requests were started, in seconds: what was planned, or from the first to the last.
    pub(crate) fn attack_s(&self) -> f64 {
        let planned =
            self.head.duration_s.filter(|_| self.facts.as_ref().is_some_and(|facts| !facts.stopped));
        let seen =
            self.tally.last_start_ns.saturating_sub(self.tally.first_start_ns.min(self.tally.last_start_ns));
        match planned.filter(|_| self.head.mode.has_schedule()) {
            // A schedule that was not kept took longer than planned.
            Some(planned) => planned.max(self.tally.last_start_ns as f64 / 1e9),
            None => seen as f64 / 1e9,
        }
        .max(1e-9)
    }

    /// From the start to the last answer, in seconds.
    pub(crate) fn wall_s(&self) -> f64 {
        let seen = self.tally.last_end_ns.max(1) as f64 / 1e9;
        if self.head.mode.has_schedule() { seen.max(self.attack_s()) } else { seen }
    }

    /// Replies per second in each full sample of 5 seconds.
    pub(crate) fn reply_rates(&self) -> Vec<f64> {
        let full = (self.tally.last_end_ns / SAMPLE_NS) as usize;
        let samples = self.tally.samples.iter().take(full);
        samples.map(|replies| *replies as f64 / (SAMPLE_NS as f64 / 1e9)).collect()
    }

    /// What was verified of uploads; `None` = nobody asked, or none was taken.
    pub fn uploads(&self) -> Option<Uploads> {
        let Tally { verified, unverified, .. } = self.tally;
        (verified + unverified > 0).then_some(Uploads { verified, unverified })
    }

    /// The same for programs.
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
