//! Policies: demand becomes a number of servers.

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

/// How demand becomes a number of servers.
#[derive(Debug, Clone, PartialEq)]
pub enum Policy {
    /// The mean of the last period, as published.
    Reactive(Reactive),
    /// Work that servers lack, or could do besides, adds up until one more or one fewer is worth it.
    Target(Target),
    /// As `Target`, and ahead of it by a forecast.
    Predictive(Predictive),
    /// No fewer than so many at such times.
    Schedule(Schedule),
}

/// What a policy judges.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Situation {
    pub(crate) now: Now,
    /// Since the last time; 0 at first.
    pub(crate) passed: Duration,
    /// What was gone by since then, in servers of the standard kind. `None` = nobody knows.
    pub(crate) demand: Option<f64>,
    /// Whether that is all there is: not if some signal says nothing.
    pub(crate) is_complete: bool,
    /// Servers wanted so far.
    pub(crate) wanted: u32,
    /// How long a new server takes until it gets requests.
    pub(crate) start_up: Duration,
    /// Fewer are never wanted.
    pub(crate) least: u32,
    /// Nor more.
    pub(crate) most: u32,
}

/// What a policy wants.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Proposal {
    /// Wanted servers; within the bounds of the fleet if the policy uses them.
    pub(crate) wanted: u32,
    /// Wanted servers without bounds.
    pub(crate) needed: u32,
    pub(crate) reason: String,
}

/// A policy at work.
#[derive(Debug, Clone)]
pub(crate) enum Tracker {
    Reactive(reactive::Tracker),
    Target(Box<target::Tracker>),
    Predictive(Box<predictive::Tracker>),
    Schedule(schedule::Tracker),
}

impl Policy {
    /// What configs, reports and reasons call it.
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

    /// Takes in what demand was in the past, for those who forecast.
    pub(crate) fn remember(&mut self, wall_s: i64, demand: f64) {
        if let Self::Predictive(tracker) = self {
            tracker.remember(wall_s, demand);
        }
    }

    /// Forgets what demand was in the past.
    pub(crate) fn forget(&mut self) {
        if let Self::Predictive(tracker) = self {
            tracker.forget();
        }
    }

    /// Makes its forecast anew if that is worth it by now; returns whether it did so.
    pub(crate) fn refit(&mut self) -> bool {
        match self {
            Self::Predictive(tracker) => tracker.refit(),
            Self::Reactive(_) | Self::Target(_) | Self::Schedule(_) => false,
        }
    }
}

/// The least number of servers that can do so much; what rounding has added to a whole number does not call for another one.
pub(crate) fn servers_for(demand: f64) -> u32 {
    let whole = (demand - 1e-9).ceil();
    if whole >= f64::from(u32::MAX) { u32::MAX } else { whole.max(0.0) as u32 }
}
