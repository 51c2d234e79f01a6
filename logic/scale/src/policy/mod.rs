//! Policies, which turn demand into a number of servers.

mod cron;
mod damping;
mod predictive;
mod reactive;
mod schedule;
mod target;

use std::time::Duration;

use crate::time::Now;
pub use cron::{BadCron, Cron};
pub use predictive::Predictive;
pub use reactive::Reactive;
pub use schedule::{Floor, Schedule};
pub use target::{Step, Target};

/// Rule that turns demand into a number of servers.
#[derive(Debug, Clone, PartialEq)]
pub enum Policy {
    /// The mean of the last period, as in the published autoscaler.
    Reactive(Reactive),
    /// Adds up missing and spare work until one server more or fewer is justified.
    Target(Target),
    /// Like `Target`, and ahead of it by a forecast.
    Predictive(Predictive),
    /// Minimum numbers of servers at given times.
    Schedule(Schedule),
}

/// Input of a policy.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Situation {
    pub(crate) now: Now,
    /// Time since the previous decision; 0 at first.
    pub(crate) passed: Duration,
    /// Demand in that time, in servers of the standard kind; `None` = unknown.
    pub(crate) demand: Option<f64>,
    /// True if the demand includes all signals; false if one is unusable.
    pub(crate) is_complete: bool,
    /// Servers wanted so far.
    pub(crate) wanted: u32,
    /// Expected time from the creation of a server to its first request.
    pub(crate) start_up: Duration,
    /// Minimum number of servers.
    pub(crate) least: u32,
    /// Maximum number of servers.
    pub(crate) most: u32,
}

/// Proposal of a policy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Proposal {
    /// Wanted servers, within the fleet's bounds if the policy uses them.
    pub(crate) wanted: u32,
    /// Wanted servers without bounds.
    pub(crate) needed: u32,
    pub(crate) reason: String,
}

/// A policy with its state.
#[derive(Debug, Clone)]
pub(crate) enum Tracker {
    Reactive(reactive::Tracker),
    Target(Box<target::Tracker>),
    Predictive(Box<predictive::Tracker>),
    Schedule(schedule::Tracker),
}

impl Policy {
    /// Returns the name in configs, reports and reasons.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Reactive(_) => "reactive",
            Self::Target(_) => "target",
            Self::Predictive(_) => "predictive",
            Self::Schedule(_) => "schedule",
        }
    }

    /// The names of all policies.
    pub const NAMES: [&'static str; 4] = ["reactive", "target", "predictive", "schedule"];
}

impl Default for Policy {
    fn default() -> Self {
        Self::Target(Target::default())
    }
}

impl Tracker {
    pub(crate) fn new(policy: &Policy) -> Self {
        match policy {
            Policy::Reactive(rule) => Self::Reactive(reactive::Tracker::new(rule)),
            Policy::Target(rule) => Self::Target(Box::new(target::Tracker::new(rule))),
            Policy::Predictive(rule) => Self::Predictive(Box::new(predictive::Tracker::new(rule))),
            Policy::Schedule(rule) => Self::Schedule(schedule::Tracker::new(rule)),
        }
    }

    pub(crate) fn propose(&mut self, situation: &Situation) -> Proposal {
        match self {
            Self::Reactive(tracker) => tracker.propose(situation),
            Self::Target(tracker) => tracker.propose(situation),
            Self::Predictive(tracker) => tracker.propose(situation),
            Self::Schedule(tracker) => tracker.propose(situation.now, situation.start_up),
        }
    }

    /// Adds past demand, for policies that forecast.
    pub(crate) fn remember(&mut self, wall_s: i64, demand: f64) {
        if let Self::Predictive(tracker) = self {
            tracker.remember(wall_s, demand);
        }
    }

    /// Removes the past demand.
    pub(crate) fn forget(&mut self) {
        if let Self::Predictive(tracker) = self {
            tracker.forget();
        }
    }

    /// Fits the forecast again, if enough new points exist; returns true if it did.
    pub(crate) fn refit(&mut self) -> bool {
        match self {
            Self::Predictive(tracker) => tracker.refit(),
            Self::Reactive(_) | Self::Target(_) | Self::Schedule(_) => false,
        }
    }
}

/// Returns the smallest number of servers for a demand. Ignores rounding errors above a whole number.
pub(crate) fn servers_for(demand: f64) -> u32 {
    let whole = (demand - 1e-9).ceil();
    if whole >= f64::from(u32::MAX) { u32::MAX } else { whole.max(0.0) as u32 }
}
