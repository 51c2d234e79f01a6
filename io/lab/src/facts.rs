//! What a run was asked to do, and what it saw of itself.

use serde::{Deserialize, Serialize};

use crate::schedule::{Arrivals, Phases};
use crate::turns::Turns;

/// What was asked for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Default)]
pub struct Head {
    /// Version of the result file.
    pub format: u32,
    /// Of the program.
    pub version: String,
    /// When the run started, in nanoseconds since 1970.
    pub started_unix_ns: u64,
    /// How requests follow each other.
    pub mode: Mode,
    /// Names of the targets.
    pub targets: Vec<String>,
    /// Requests that should be sent, where that is known beforehand.
    pub requests: Option<u64>,
    /// How long requests are started, in seconds, where that is known beforehand.
    pub duration_s: Option<f64>,
    /// HTTP/2, with so many requests at a time on each connection; `None` = HTTP/1.1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub streams: Option<usize>,
    /// Connections at the same time, at most.
    pub connections_max: usize,
    /// Threads that generate load.
    pub threads: usize,
    /// How long an answer may take, in seconds.
    pub timeout_s: f64,
    /// What is expected.
    pub expected: Expected,
}

/// How requests follow each other.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "kind")]
pub enum Mode {
    /// By the clock.
    Open {
        /// The rates.
        phases: Phases,
        /// How arrivals follow each other.
        arrivals: Arrivals,
    },
    /// As a log says.
    Replay {
        /// Its name.
        log: String,
        /// So many times as fast.
        speed: f64,
    },
    /// Each connection sends its next request when it has its answer.
    Closed {
        /// How many connections.
        connections: usize,
        /// How long each waits before its next request, in seconds.
        pause_s: f64,
    },
    /// Connections are opened by the clock, and each sends so many requests one after another.
    Sessions {
        /// Their rates.
        phases: Phases,
        /// How they follow each other.
        arrivals: Arrivals,
        /// Requests of each.
        calls: u32,
        /// How long each waits before its next request, in seconds.
        pause_s: f64,
    },
}

impl Default for Mode {
    fn default() -> Self {
        Self::Closed { connections: 1, pause_s: 0.0 }
    }
}

impl Mode {
    /// Latency counts from when a request was due, and starts must be on time.
    pub fn has_schedule(&self) -> bool {
        !matches!(self, Self::Closed { .. })
    }
}

/// What a good run looks like.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Expected {
    /// Statuses that count as success, or the first digits of classes of them: 2 = 200 to 299. Empty = 200 to 399.
    pub statuses: Vec<u16>,
    /// At least this share of the requests is answered as expected, in percent; with fewer the server has failed.
    #[serde(default = "Expected::success_min_percent")]
    pub success_min_percent: f64,
    /// Bytes of each successful answer's body.
    pub body_bytes: Option<u64>,
    /// What the server should take before it answers, at least, in nanoseconds.
    pub think_ns: Option<u64>,
    /// Shares of requests by server; `None` = nobody looks.
    pub balance: Option<Balance>,
    /// Lateness on a busy machine is marked, and does not make the run invalid.
    #[serde(default)]
    pub accept_late: bool,
}

impl Expected {
    /// Whether a status is one of those that are expected.
    pub fn accepts(&self, status: u16) -> bool {
        match self.statuses.as_slice() {
            [] => (200..400).contains(&status),
            some => some.iter().any(|one| *one == status || *one == status / 100),
        }
    }

    fn success_min_percent() -> f64 {
        99.0
    }
}

impl Default for Expected {
    fn default() -> Self {
        Self {
            statuses: Vec::new(),
            success_min_percent: Self::success_min_percent(),
            body_bytes: None,
            think_ns: None,
            balance: None,
            accept_late: false,
        }
    }
}

/// How requests should be spread.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Balance {
    /// The same for each of so many servers; 0 = of as many as answer, at least two.
    Equal(usize),
    /// So many servers get some, none of them nothing; fewer than 20 requests for each say nothing.
    Each(usize),
    /// All to one server, whichever it is.
    One,
    /// By name, as shares of 1, as a draw of lots would have it.
    Shares(Vec<(String, f64)>),
    /// In turn, by weights: nearer to them than chance would come.
    InTurn(Turns),
}

impl Balance {
    /// Requests for each server without which nobody is idle.
    pub(crate) const EACH_MIN: u64 = 20;
}

impl std::str::FromStr for Balance {
    type Err = String;

    /// `equal`, `equal:3`, `each:3`, `one` or `a=2,b=1`.
    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("{text:?}: write equal, equal:3, each:3, one or a=2,b=1");
        match text {
            "equal" => return Ok(Self::Equal(0)),
            "one" => return Ok(Self::One),
            _ => {}
        }
        for (prefix, of) in [("equal:", Self::Equal as fn(usize) -> Self), ("each:", Self::Each)] {
            if let Some(count) = text.strip_prefix(prefix) {
                return count.parse().ok().filter(|count| *count > 0).map(of).ok_or_else(wrong);
            }
        }
        let parts = text.split(',').map(|part| {
            let (name, share) = part.split_once('=')?;
            let share: f64 = share.parse().ok()?;
            (share >= 0.0 && share.is_finite()).then(|| (name.trim().to_owned(), share))
        });
        let mut shares = parts.collect::<Option<Vec<_>>>().ok_or_else(wrong)?;
        let total: f64 = shares.iter().map(|(_, share)| share).sum();
        if total <= 0.0 {
            return Err(wrong());
        }
        shares.iter_mut().for_each(|(_, share)| *share /= total);
        Ok(Self::Shares(shares))
    }
}

/// What the run saw of itself.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Default)]
pub struct Facts {
    /// From the start to the last answer, in nanoseconds.
    pub wall_ns: u64,
    /// Requests that came to be due.
    pub due: u64,
    /// Of these, those that were never sent.
    pub unsent: u64,
    /// Of each thread.
    pub threads: Vec<ThreadFacts>,
    /// CPU time of the process in user space, in nanoseconds.
    pub cpu_user_ns: u64,
    /// CPU time of the process in the kernel, in nanoseconds.
    pub cpu_system_ns: u64,
    /// Connections that were made.
    pub connections: u64,
    /// Connections that stood at the same time, at most; of several threads, the sum of each one's most.
    pub connections_at_once: u64,
    /// Connections that a thread began one after another before nothing was due any more, at most. Of a closed loop 0.
    #[serde(default)]
    pub connect_burst_max: u64,
    /// HTTP/2: requests that a server allowed at a time on a connection, if that was less than was asked for; of several, the least.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub streams_allowed: Option<u64>,
    /// Kept connections that the server closed while nothing was asked.
    pub closed_idle: u64,
    /// Kept connections on which bytes came after the answer, while nothing was asked: what goes on after its announced end.
    #[serde(default)]
    pub unasked: u64,
    /// The longest time in which requests were under way and not a byte came, in nanoseconds.
    pub silence_ns: u64,
    /// The least memory that could be had while it ran, of the machine or within the limits of its control groups, in bytes; `None` = unknown.
    pub memory_available_min: Option<u64>,
    /// The user ended it early.
    pub stopped: bool,
    /// Requests that are missing in the result file because the disk did not keep up.
    pub unrecorded: u64,
    /// The first complete answer; of several threads that of the first of them that had one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_answer: Option<FirstAnswer>,
    /// The quota of CPU time that it ran out of most often; `None` = no control group of it that can be seen has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quota: Option<QuotaFacts>,
    /// Sessions: how long connections lasted, and how many requests each carried.
    pub sessions: Option<SessionFacts>,
}

/// What a thread saw of itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, Default)]
pub struct ThreadFacts {
    /// How long it ran.
    pub wall_ns: u64,
    /// How long it had something to do, being kept from it by others included.
    pub busy_ns: u64,
    /// How long it was awake only because the next request was due soon.
    pub spin_ns: u64,
    /// How long it could have run and was not let, as the kernel says; `None` = it does not say.
    pub run_delay_ns: Option<u64>,
    /// It ran ahead of all ordinary programs.
    #[serde(default)]
    pub is_ahead: bool,
    /// How long it had something to do and was not on a CPU, and how much longer it slept than it wanted to, where that was so long
    /// that it was not the kernel's timer: it was kept waiting, out of its quota, or stopped.
    #[serde(default)]
    pub stalled_ns: u64,
}

/// What an answer said of itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default)]
pub struct FirstAnswer {
    /// Its Server header; empty = it had none.
    pub software: String,
    /// Bytes of its body.
    pub body_bytes: u64,
}

/// A control group's quota of CPU time during the run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct QuotaFacts {
    /// Its path, from where control groups begin.
    pub group: String,
    /// So many CPUs' time it may have in a period.
    pub cpus: f64,
    /// Periods in which it ran.
    pub periods: u64,
    /// Of these, periods in which it used its quota up and had to wait.
    pub throttled: u64,
}

/// Connections as sessions have them, in milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, Default)]
pub struct SessionFacts {
    /// Sessions that ended as they should.
    pub complete: u64,
    /// From the beginning of the connection to its end: the shortest.
    pub min_ms: f64,
    /// The mean.
    pub mean_ms: f64,
    /// The longest.
    pub max_ms: f64,
    /// Half are not longer.
    pub median_ms: f64,
    /// The standard deviation.
    pub deviation_ms: f64,
    /// Replies on each, on average.
    pub replies_mean: f64,
}
