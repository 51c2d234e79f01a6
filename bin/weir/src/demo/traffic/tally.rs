//! Counts the outcomes of requests. Each request that was sent is counted in exactly one of them.

use std::collections::BTreeMap;
use std::time::Duration;

use weir_stats::Histogram;

/// Counts so far.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    sent: u64,
    statuses: BTreeMap<u16, u64>,
    failures: BTreeMap<Kind, u64>,
    last_failure: Option<Failure>,
    latency: Histogram,
}

/// Failure of a request that got no complete response.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Failure {
    pub(super) kind: Kind,
    pub(super) cause: String,
}

/// Kind of failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    /// The connection could not be opened.
    Connect,
    /// No byte of a response arrived.
    NoAnswer,
    /// The response was cut off or cannot be parsed.
    Broken,
    /// The response took too long.
    Timeout,
}

impl Tally {
    pub(super) fn sent(&mut self) {
        self.sent += 1;
    }

    /// Counts a request that ended, `took` after it was due.
    pub(super) fn ended(&mut self, outcome: Result<u16, Failure>, took: Duration) {
        match outcome {
            Ok(status) => {
                *self.statuses.entry(status).or_default() += 1;
                self.latency.record(u64::try_from(took.as_micros()).unwrap_or(u64::MAX));
            }
            Err(failure) => {
                *self.failures.entry(failure.kind).or_default() += 1;
                self.last_failure = Some(failure);
            }
        }
    }

    /// Makes a tally of answered requests, each with its status and latency.
    #[cfg(test)]
    pub(crate) fn of(answers: impl IntoIterator<Item = (u16, Duration)>) -> Self {
        let mut tally = Self::default();
        for (status, took) in answers {
            tally.sent();
            tally.ended(Ok(status), took);
        }
        tally
    }

    /// Returns the number of requests that were sent.
    pub(crate) fn requests(&self) -> u64 {
        self.sent
    }

    /// Returns the number of requests with a complete response, of any status.
    pub(crate) fn answered(&self) -> u64 {
        self.statuses.values().sum()
    }

    /// Returns the number of requests without a complete response.
    pub(crate) fn failed(&self) -> u64 {
        self.failures.values().sum()
    }

    /// Returns the number of requests that were not served: failed, or answered with a status other than 200.
    pub(crate) fn not_served(&self) -> u64 {
        let other: u64 =
            self.statuses.iter().filter(|(status, _)| **status != 200).map(|(_, count)| count).sum();
        other + self.failed()
    }

    /// Returns the latencies in microseconds, from the time when a request was due to the last byte of its
    /// response.
    pub(crate) fn latency(&self) -> &Histogram {
        &self.latency
    }

    /// Returns `600 requests: 598 answered with 200, 1 answered with 503, 1 failed (1 no answer; the last
    /// one: ...)`.
    pub(crate) fn describe(&self) -> String {
        let mut parts: Vec<_> =
            self.statuses.iter().map(|(status, count)| format!("{count} answered with {status}")).collect();
        let under_way = self.requests() - self.answered() - self.failed();
        if under_way > 0 {
            parts.push(format!("{under_way} under way"));
        }
        let kinds: Vec<_> =
            self.failures.iter().map(|(kind, count)| format!("{count} {}", kind.name())).collect();
        match &self.last_failure {
            None => parts.push("0 failed".to_owned()),
            Some(last) => {
                let kinds = kinds.join(", ");
                parts.push(format!("{} failed ({kinds}; the last one: {})", self.failed(), last.cause));
            }
        }
        format!("{} requests: {}", self.requests(), parts.join(", "))
    }
}

impl Failure {
    pub(super) fn new(kind: Kind, cause: impl Into<String>) -> Self {
        Self { kind, cause: cause.into() }
    }
}

impl Kind {
    const fn name(self) -> &'static str {
        match self {
            Self::Connect => "without a connection",
            Self::NoAnswer => "without an answer",
            Self::Broken => "with a broken answer",
            Self::Timeout => "with no answer in time",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_request_that_was_sent_is_somewhere() {
        let took = Duration::from_millis(7);
        let mut tally = Tally::of([(200, took), (200, took), (503, took)]);
        tally.sent();
        tally.sent();
        tally.ended(Err(Failure::new(Kind::Broken, "cut")), took);
        assert_eq!((tally.requests(), tally.answered(), tally.failed(), tally.not_served()), (5, 3, 1, 2));
        assert_eq!(
            tally.describe(),
            "5 requests: 2 answered with 200, 1 answered with 503, 1 under way, \
             1 failed (1 with a broken answer; the last one: cut)"
        );
    }

    #[test]
    fn only_answers_have_a_latency() {
        let mut tally = Tally::default();
        tally.sent();
        tally.ended(Err(Failure::new(Kind::Timeout, "late")), Duration::from_secs(10));
        assert_eq!(tally.latency().count(), 0);
    }
}
