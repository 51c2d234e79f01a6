//! The scaling rules of a fleet.

use std::time::Duration;

use crate::capacity::{Capacity, CapacityRule};
use crate::choice::Leaver;
use crate::history::Row;
use crate::policy::Policy;
use crate::window::Statistic;

/// Rules of one fleet: the config with all defaults filled in.
#[derive(Debug, Clone, PartialEq)]
pub struct Rules {
    /// Minimum and maximum number of servers.
    pub bounds: Bounds,
    /// Signals that make up demand; at least one.
    pub signals: Vec<SignalRule>,
    /// Rule that combines several signals into one.
    pub combination: Combination,
    /// Capacity of one server.
    pub capacity: CapacityRule,
    /// Policies that turn demand into a number of servers; the highest proposal counts.
    pub policies: Vec<Policy>,
    /// Pauses between changes.
    pub cool_down: CoolDown,
    /// Rule that selects the server to remove.
    pub leaver: Leaver,
    /// Servers that are kept stopped.
    pub standby: Standby,
    /// Expected time from the creation of a server to its first request, before any was measured.
    pub start_up: Duration,
    /// The same time for a stopped server that is started.
    pub wake_up: Duration,
    /// Time of failed health checks after which a server is replaced.
    pub replace_after: Duration,
    /// Maximum time of draining; after it, a server is stopped even with requests in progress.
    pub drain_deadline: Duration,
    /// Maximum age of a measurement.
    pub stale_after: Duration,
}

/// Minimum and maximum number of servers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bounds {
    /// Minimum number of running servers, at any demand.
    pub min: u32,
    /// Maximum number of running servers; not below `min`.
    pub max: u32,
    /// Maximum number of existing servers, including stopped ones; `None` = the provider's limit applies.
    pub quota: Option<u32>,
}

/// Kind of measurement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SignalKind {
    /// Requests per second, compared with the capacity of a server.
    Requests,
    /// Requests in progress.
    Active,
    /// Queued requests: each `per_server` of them call for one server more than are healthy.
    Queued,
    /// The 95th percentile of latency, in seconds. The demand is the healthy capacity times its ratio to
    /// `per_server`.
    Latency,
    /// Bytes per second.
    Bytes,
    /// CPU load, 1 = fully busy. The demand is the healthy capacity times its ratio to `per_server`.
    Cpu,
}

/// One signal of the demand.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SignalRule {
    /// Kind of measurement.
    pub kind: SignalKind,
    /// Intended amount for one server of the standard kind. Unused for [`SignalKind::Requests`].
    pub per_server: f64,
    /// Statistic over the window.
    pub statistic: Statistic,
    /// Length of the window; 0 = the latest value only.
    pub window: Duration,
}

/// Rule that combines several signals into one demand.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Combination {
    /// The highest demand of all signals.
    #[default]
    Max,
    /// The mean of all signals.
    Mean,
    /// The lowest demand of all signals.
    Min,
}

/// Pauses between changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CoolDown {
    /// Pause from one increase to the next.
    pub up: Duration,
    /// Pause from any change to a decrease.
    pub down: Duration,
}

/// Servers that are kept stopped, because starting them is much faster than creating new ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Standby {
    /// Maximum number of stopped servers; further surplus servers are deleted.
    pub keep: u32,
    /// Minimum number of stopped servers, which are created in advance if necessary; at most `keep`.
    pub prepare: u32,
}

impl Rules {
    /// Creates rules by requests per second with the default policy.
    pub fn by_requests(min: u32, max: u32, requests_per_s: f64) -> Self {
        Self {
            bounds: Bounds { min, max: max.max(min), quota: None },
            signals: vec![SignalRule::latest(SignalKind::Requests, 0.0)],
            combination: Combination::Max,
            capacity: CapacityRule::given(requests_per_s),
            policies: vec![Policy::default()],
            cool_down: CoolDown::default(),
            leaver: Leaver::default(),
            // Keeps surplus servers stopped: they cost little, and start sooner than new ones.
            standby: Standby { keep: max.saturating_sub(min), prepare: 0 },
            start_up: Duration::from_secs(60),
            wake_up: Duration::from_secs(20),
            replace_after: Duration::from_secs(30),
            drain_deadline: Duration::from_secs(300),
            stale_after: Duration::from_secs(15),
        }
    }
}

impl Rules {
    /// Returns the same rules for a fleet without any machine, regardless of its bounds.
    pub(crate) fn without_servers(&self) -> Self {
        let bounds = Bounds { min: 0, ..self.bounds };
        Self { bounds, standby: Standby::default(), ..self.clone() }
    }

    /// Returns true if a policy uses past demand.
    pub fn forecasts(&self) -> bool {
        self.policies.iter().any(|policy| matches!(policy, Policy::Predictive(_)))
    }

    /// Returns the demand of a history row in servers of the present kind; `None` = unknown.
    pub fn demand_of(&self, row: &Row) -> Option<f64> {
        match self.requests_per_server() {
            // The servers of that time may have had another capacity.
            Some(requests_per_s) => Some(row.rate_per_s? / requests_per_s),
            None => row.demand,
        }
    }

    /// Returns the requests per second of a server, if demand consists of requests only and the capacity is
    /// given.
    pub(crate) fn requests_per_server(&self) -> Option<f64> {
        let counts_requests = self.signals.iter().all(|signal| signal.kind == SignalKind::Requests);
        match self.capacity.standard {
            Capacity::Given(requests_per_s) if counts_requests => Some(requests_per_s),
            _ => None,
        }
    }
}

impl SignalRule {
    /// Creates a rule that uses the latest value.
    pub const fn latest(kind: SignalKind, per_server: f64) -> Self {
        Self { kind, per_server, statistic: Statistic::Mean, window: Duration::ZERO }
    }
}

impl SignalKind {
    /// All kinds.
    pub const ALL: [Self; 6] =
        [Self::Requests, Self::Active, Self::Queued, Self::Latency, Self::Bytes, Self::Cpu];

    /// Returns the name in configs and reasons.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Requests => "requests",
            Self::Active => "active",
            Self::Queued => "queued",
            Self::Latency => "latency",
            Self::Bytes => "bytes",
            Self::Cpu => "cpu",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_tells_demand_in_servers_as_they_are_now_where_requests_are_what_counts() {
        let row = Row { rate_per_s: Some(40.0), demand: Some(3.0), ..Row::default() };
        let old = Row { demand: None, ..row.clone() };
        let requests = Rules::by_requests(1, 5, 20.0);
        assert_eq!((requests.demand_of(&row), requests.demand_of(&old)), (Some(2.0), Some(2.0)));
        let mut other = requests.clone();
        other.signals.push(SignalRule::latest(SignalKind::Active, 10.0));
        assert_eq!((other.demand_of(&row), other.demand_of(&old)), (Some(3.0), None));
        let standard = Capacity::Learned { initial: 5.0, least: 1.0, most: 9.0, slower: 2.0 };
        let mut learned = requests;
        learned.capacity.standard = standard;
        assert_eq!((learned.demand_of(&row), learned.demand_of(&old)), (Some(3.0), None));
    }
}
