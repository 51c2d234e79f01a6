//! The settings of a run and the measurements that the generator makes of itself.

use serde::{Deserialize, Serialize};

use crate::schedule::{Arrivals, Phases};
use crate::turns::Turns;

/// Settings of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Default)]
pub struct Head {
    /// Version of the result file.
    pub format: u32,
    /// Version of the program.
    pub version: String,
    /// Start of the run, in nanoseconds since 1970.
    pub started_unix_ns: u64,
    /// Load model of the run.
    pub mode: Mode,
    /// Names of the targets.
    pub targets: Vec<String>,
    /// Planned number of requests, if it is known before the start.
    pub requests: Option<u64>,
    /// Time during which requests are started, in seconds, if it is known before the start.
    pub duration_s: Option<f64>,
    /// Concurrent requests per HTTP/2 connection; `None` = HTTP/1.1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub streams: Option<usize>,
    /// Maximum number of concurrent connections.
    pub connections_max: usize,
    /// Threads that generate load.
    pub threads: usize,
    /// Timeout of a request, in seconds.
    pub timeout_s: f64,
    /// Expectations that the server must meet.
    pub expected: Expected,
}

/// Load model: the rule by which requests follow each other.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "kind")]
pub enum Mode {
    /// Open loop: requests start by the clock.
    Open {
        /// Rates over time.
        phases: Phases,
        /// Spacing of arrivals.
        arrivals: Arrivals,
    },
    /// Replay: requests start at the times of a log.
    Replay {
        /// Name of the log.
        log: String,
        /// Speed factor: 2 replays the log twice as fast.
        speed: f64,
    },
    /// Closed loop: each connection sends its next request after it has received its response.
    Closed {
        /// Number of connections.
        connections: usize,
        /// Pause of each connection before its next request, in seconds.
        pause_s: f64,
    },
    /// Sessions: connections open by the clock, and each sends `calls` requests one after another.
    Sessions {
        /// Rates of the sessions over time.
        phases: Phases,
        /// Spacing of the sessions.
        arrivals: Arrivals,
        /// Requests per session.
        calls: u32,
        /// Pause of each session before its next request, in seconds.
        pause_s: f64,
    },
}

impl Default for Mode {
    fn default() -> Self {
        Self::Closed { connections: 1, pause_s: 0.0 }
    }
}

impl Mode {
    /// True if requests have due times: latency then counts from the due time, and starts must be on time.
    pub fn has_schedule(&self) -> bool {
        !matches!(self, Self::Closed { .. })
    }
}

/// Criteria for a good run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Expected {
    /// Statuses that count as success, or their first digits: 2 = 200 to 299. Empty = 200 to 399.
    pub statuses: Vec<u16>,
    /// Minimum share of requests with the expected response, in percent. Below it, the server has failed.
    #[serde(default = "Expected::success_min_percent")]
    pub success_min_percent: f64,
    /// Size of the body of each successful response, in bytes.
    pub body_bytes: Option<u64>,
    /// Minimum time that the server should take before it responds, in nanoseconds.
    pub think_ns: Option<u64>,
    /// Expected distribution of requests over servers; `None` = not checked.
    pub balance: Option<Balance>,
    /// Set when late starts on a busy machine mark the run but do not make it invalid.
    #[serde(default)]
    pub accept_late: bool,
}

impl Expected {
    /// Returns true if the status is an expected one.
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

/// Expected distribution of requests over servers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Balance {
    /// The same number for each of N servers; 0 = as many servers as respond, but at least two.
    Equal(usize),
    /// At least one request for each of N servers. Below 20 requests per server, the check is skipped.
    Each(usize),
    /// All requests to one server, no matter which one.
    One,
    /// Shares by server name, with a sum of 1, within the error of random selection.
    Shares(Vec<(String, f64)>),
    /// Weighted round robin, which deviates less than random selection does.
    InTurn(Turns),
}

impl Balance {
    /// Minimum number of requests per server for the check that no server is idle.
    pub(crate) const EACH_MIN: u64 = 20;
}

impl std::str::FromStr for Balance {
    type Err = String;

    /// Parses `equal`, `equal:3`, `each:3`, `one` or `a=2,b=1`.
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

/// Measurements that the generator makes of itself.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Default)]
pub struct Facts {
    /// Time from the start to the last response, in nanoseconds.
    pub wall_ns: u64,
    /// Requests that became due.
    pub due: u64,
    /// Due requests that were never sent.
    pub unsent: u64,
    /// Measurements of each thread.
    pub threads: Vec<ThreadFacts>,
    /// CPU time of the process in user space, in nanoseconds.
    pub cpu_user_ns: u64,
    /// CPU time of the process in the kernel, in nanoseconds.
    pub cpu_system_ns: u64,
    /// Connections that were opened.
    pub connections: u64,
    /// Maximum number of established connections. With several threads, the sum of the maximum of each
    /// thread.
    pub connections_at_once: u64,
    /// Longest series of connections that a thread began before no request was due. 0 in a closed loop.
    #[serde(default)]
    pub connect_burst_max: u64,
    /// HTTP/2: concurrent requests per connection that the server allowed, if fewer than configured. With
    /// several servers, the lowest value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub streams_allowed: Option<u64>,
    /// Kept connections that the server closed while no request was in progress.
    pub closed_idle: u64,
    /// Kept connections that received bytes after a response while no request was in progress. The response
    /// was longer than announced.
    #[serde(default)]
    pub unasked: u64,
    /// Longest time in which requests were in progress and no byte arrived, in nanoseconds.
    pub silence_ns: u64,
    /// Lowest amount of available memory during the run, in bytes, of the machine or within the limits of its
    /// control groups. `None` = unknown.
    pub memory_available_min: Option<u64>,
    /// Set when the user stopped the run early.
    pub stopped: bool,
    /// Requests that are missing in the result file because the disk was too slow.
    pub unrecorded: u64,
    /// First complete response. With several threads, the one of the first thread that received one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_answer: Option<FirstAnswer>,
    /// CPU quota that was used up most often; `None` = no visible control group of the process has a quota.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quota: Option<QuotaFacts>,
    /// Sessions: the lifetimes of connections and the number of requests on each.
    pub sessions: Option<SessionFacts>,
}

/// Measurements of one thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, Default)]
pub struct ThreadFacts {
    /// Running time of the thread.
    pub wall_ns: u64,
    /// Time with work to do, including time in which other threads kept it from the CPU.
    pub busy_ns: u64,
    /// Time awake only because the next request was due soon.
    pub spin_ns: u64,
    /// Time runnable but not on a CPU, as the kernel reports it; `None` = not reported.
    pub run_delay_ns: Option<u64>,
    /// Set when the thread ran with real-time priority, ahead of all ordinary programs.
    #[serde(default)]
    pub is_ahead: bool,
    /// Time in which the thread had work but no CPU, plus the time that it overslept. Counts only delays too
    /// long to come from the kernel timer. Causes are a busy machine, a used-up quota, or a stopped process.
    #[serde(default)]
    pub stalled_ns: u64,
}

/// Properties of the first response.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default)]
pub struct FirstAnswer {
    /// Value of the Server header; empty = no such header.
    pub software: String,
    /// Size of the body, in bytes.
    pub body_bytes: u64,
}

/// A control group's quota of CPU time during the run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct QuotaFacts {
    /// Path of the group, from the root of the hierarchy.
    pub group: String,
    /// CPU time per period that the group may use, in CPUs.
    pub cpus: f64,
    /// Periods in which the group ran.
    pub periods: u64,
    /// Periods in which the group used up its quota and had to wait.
    pub throttled: u64,
}

/// Statistics of sessions. Times are in milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, Default)]
pub struct SessionFacts {
    /// Sessions that ended normally.
    pub complete: u64,
    /// Shortest time from the beginning of a connection to its end.
    pub min_ms: f64,
    /// Mean time.
    pub mean_ms: f64,
    /// Longest time.
    pub max_ms: f64,
    /// Median time.
    pub median_ms: f64,
    /// Standard deviation of the time.
    pub deviation_ms: f64,
    /// Mean number of responses per session.
    pub replies_mean: f64,
}
