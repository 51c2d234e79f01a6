use std::time::Duration;

use crate::capacity::{Capacity, CapacityRule};
use crate::choice::Leaver;
use crate::history::Row;
use crate::policy::Policy;
use crate::window::Statistic;

/// The rules of one fleet: what a config says, with every default filled in.
#[derive(Debug, Clone, PartialEq)]
pub struct Rules {
    /// How few and how many servers there may be.
    pub bounds: Bounds,
    /// What demand is made of; at least one.
    pub signals: Vec<SignalRule>,
    /// How several signals become one.
    pub combination: Combination,
    /// What one server can do.
    pub capacity: CapacityRule,
    /// Demand becomes a number of servers; of several the most.
    pub policies: Vec<Policy>,
    /// Pauses between changes.
    pub cool_down: CoolDown,
    /// Which server goes when one too many is there.
    pub leaver: Leaver,
    /// Servers that are kept stopped.
    pub standby: Standby,
    /// How long a new server is expected to take until it gets requests, before one was seen to.
    pub start_up: Duration,
    /// The same of a stopped one that is woken.
    pub wake_up: Duration,
    /// A server whose checks fail for so long is replaced.
    pub replace_after: Duration,
    /// A server that still works on requests so long after it began to drain is stopped all the same.
    pub drain_deadline: Duration,
    /// A measurement that is older than this says nothing.
    pub stale_after: Duration,
}

/// How few and how many servers there may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bounds {
    /// Never fewer that run, whatever the demand.
    pub min: u32,
    /// Never more that run; not below `min`.
    pub max: u32,
    /// Never more that exist, stopped ones too; `None` = the provider knows.
    pub quota: Option<u32>,
}

/// What is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SignalKind {
    /// Requests per second; what a server can do of them is its capacity.
    Requests,
    /// Requests that are worked on.
    Active,
    /// Requests that wait: each `per_server` of them call for one more server than there is.
    Queued,
    /// The 95th percentile of latency, in seconds; calls for as many more servers as it is above `per_server`.
    Latency,
    /// Bytes per second.
    Bytes,
    /// Load of processors, 1 = busy; calls for as many more servers as it is above `per_server`.
    Cpu,
}

/// One thing that demand is made of.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SignalRule {
    /// What is measured.
    pub kind: SignalKind,
    /// What one server of the standard kind should have of it. Not looked at for [`SignalKind::Requests`].
    pub per_server: f64,
    /// Which of the values of a window counts.
    pub statistic: Statistic,
    /// The window; 0 = the latest value.
    pub window: Duration,
}

/// How several signals become one demand.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Combination {
    /// Whichever calls for the most servers.
    #[default]
    Max,
    /// Their mean.
    Mean,
    /// Whichever calls for the fewest.
    Min,
}

/// Pauses between changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CoolDown {
    /// From one increase to the next.
    pub up: Duration,
    /// From any change to a decrease.
    pub down: Duration,
}

/// Servers that are kept stopped: they can be woken much faster than new ones can be made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Standby {
    /// So many of those that are not needed any more are kept; the others are deleted.
    pub keep: u32,
    /// So many are made in advance if there are not as many; at most `keep`.
    pub prepare: u32,
}

impl Rules {
    /// Rules by requests per second with the policy that is used where none is named.
    pub fn by_requests(min: u32, max: u32, requests_per_s: f64) -> Self {
        Self {
            bounds: Bounds { min, max: max.max(min), quota: None },
            signals: vec![SignalRule::latest(SignalKind::Requests, 0.0)],
            combination: Combination::Max,
            capacity: CapacityRule::given(requests_per_s),
            policies: vec![Policy::default()],
            cool_down: CoolDown::default(),
            leaver: Leaver::default(),
            // Those that were made once: they cost little while they are stopped, and are back sooner than new ones.
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
    /// Returns the same rules for a fleet without any machine, whatever its bounds.
    pub(crate) fn without_servers(&self) -> Self {
        let bounds = Bounds { min: 0, ..self.bounds };
        Self { bounds, standby: Standby::default(), ..self.clone() }
    }

    /// Whether what was measured long ago matters.
    pub fn forecasts(&self) -> bool {
        self.policies.iter().any(|policy| matches!(policy, Policy::Predictive(_)))
    }

    /// The demand that a row of the history tells of, in servers as they are now; `None` = it does not.
    pub fn demand_of(&self, row: &Row) -> Option<f64> {
        match self.requests_per_server() {
            // Servers may have been others then.
            Some(requests_per_s) => Some(row.rate_per_s? / requests_per_s),
            None => row.demand,
        }
    }

    /// What a server does of requests, where demand is these and nothing else, and that is given.
    pub(crate) fn requests_per_server(&self) -> Option<f64> {
        let counts_requests = self.signals.iter().all(|signal| signal.kind == SignalKind::Requests);
        match self.capacity.standard {
            Capacity::Given(requests_per_s) if counts_requests => Some(requests_per_s),
            _ => None,
        }
    }
}

impl SignalRule {
    /// The latest value counts.
    pub const fn latest(kind: SignalKind, per_server: f64) -> Self {
        Self { kind, per_server, statistic: Statistic::Mean, window: Duration::ZERO }
    }
}

impl SignalKind {
    /// Every kind.
    pub const ALL: [Self; 6] =
        [Self::Requests, Self::Active, Self::Queued, Self::Latency, Self::Bytes, Self::Cpu];

    /// As configs and reasons call it.
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
