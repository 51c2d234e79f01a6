//! The scaler of one fleet.

use std::sync::Arc;
use std::time::Duration;

use weir_model::Name;

use crate::capacity::{Capacities, Observation};
use crate::decision::{Alarm, Decision, Part};
use crate::policy::{Situation, Tracker, servers_for};
use crate::rules::Rules;
use crate::sample::Sample;
use crate::server::Server;
use crate::signals::{Reading, Scale, Signals};
use crate::time::Now;
use crate::view::View;

/// Decides for one fleet.
///
/// Each round (about a second), call [`Scaler::observe`] with the measurements, if there are any, and then
/// [`Scaler::decide`] with the present fleet. The scaler holds the whole state of the policies. If the
/// actions of a decision are not executed, the next decision repeats them.
#[derive(Debug, Clone)]
pub struct Scaler {
    rules: Arc<Rules>,
    signals: Signals,
    capacities: Capacities,
    trackers: Vec<Tracker>,
    start_up: Duration,
    wake_up: Duration,
    failed_starts: u32,
    wanted: Option<u32>,
    pinned: Option<u32>,
    decided: Option<Duration>,
    raised: Option<Duration>,
    changed: Option<Duration>,
}

/// Weight of the newest server in the expected start-up time.
const NEWEST_SHARE: f64 = 0.3;
/// Maximum expected start-up time.
const START_UP_MAX: Duration = Duration::from_secs(3_600);

impl Scaler {
    /// Creates a scaler without measurements or decisions.
    pub fn new(rules: Arc<Rules>) -> Self {
        Self {
            signals: Signals::new(&rules.signals, rules.combination, rules.stale_after),
            capacities: Capacities::new(&rules.capacity),
            trackers: rules.policies.iter().map(Tracker::new).collect(),
            start_up: rules.start_up,
            wake_up: rules.wake_up,
            failed_starts: 0,
            wanted: None,
            pinned: None,
            decided: None,
            raised: None,
            changed: None,
            rules,
        }
    }

    /// Returns the rules.
    pub fn rules(&self) -> &Arc<Rules> {
        &self.rules
    }

    /// Adds the measurements of a moment; at most once between two decisions.
    pub fn observe(&mut self, at: Duration, sample: &Sample) {
        let scale = Scale { requests_per_s: self.capacities.standard(), servers_max: self.rules.bounds.max };
        self.signals.take(at, sample, scale);
    }

    /// Returns the request rate that counts instead of the measured one, if they differ.
    pub fn held_rate(&self) -> Option<f64> {
        self.signals.held_rate()
    }

    /// Adds the performance of a server of a kind, if its capacity is learned.
    pub fn learn(&mut self, flavour: Option<&Name>, observation: &Observation) {
        if let Some(learner) = self.capacities.learner(flavour) {
            learner.take(observation);
        }
    }

    /// Returns the capacity of each kind of server, with an explanation.
    pub fn capacities(&self) -> Vec<(Option<Name>, String)> {
        self.capacities.explain()
    }

    /// Adds past demand in servers of the standard kind, oldest first, as the basis of forecasts.
    pub fn remember(&mut self, wall_s: i64, demand: f64) {
        self.trackers.iter_mut().for_each(|tracker| tracker.remember(wall_s, demand));
    }

    /// Removes the past demand of the forecasts, so that older demand can be added.
    pub fn forget(&mut self) {
        self.trackers.iter_mut().for_each(Tracker::forget);
    }

    /// Fits one forecast again, if enough new data exists; returns true if it did. A fit takes about a
    /// millisecond and occurs several times a day. It is not part of a decision: call it after each. A thread
    /// with many fleets lets one fleet do this in each round.
    pub fn refit(&mut self) -> bool {
        self.trackers.iter_mut().any(Tracker::refit)
    }

    /// Records the time that a new server (or, if `woken`, a stopped one) took to its first request.
    pub fn started(&mut self, woken: bool, took: Duration) {
        let expected = if woken { &mut self.wake_up } else { &mut self.start_up };
        let took = took.min(START_UP_MAX).as_secs_f64();
        let believed = expected.as_secs_f64() + (took - expected.as_secs_f64()) * NEWEST_SHARE;
        *expected = Duration::from_secs_f64(believed.max(0.0));
    }

    /// Sets the number of failed starts in a row; the scaler then waits longer for the next servers.
    pub fn set_failed_starts(&mut self, count: u32) {
        self.failed_starts = count;
    }

    /// Returns the expected start-up time of a new server (or, if `woken`, a stopped one).
    pub fn expected(&self, woken: bool) -> Duration {
        if woken { self.wake_up } else { self.start_up }
    }

    /// Sets the number of servers by hand; `None` = the policies decide again. The bounds apply, except for
    /// 0, which deletes all machines, including stopped ones.
    pub fn pin(&mut self, wanted: Option<u32>) {
        self.pinned = wanted;
    }

    /// Decides the number of servers and the actions.
    pub fn decide(&mut self, now: Now, servers: &[Server]) -> Decision {
        let rules = match self.pinned {
            Some(0) => Arc::new(self.rules.without_servers()),
            _ => Arc::clone(&self.rules),
        };
        let view = View {
            rules: &rules,
            capacities: &self.capacities,
            servers,
            now: now.at,
            start_up: self.start_up,
            failed_starts: self.failed_starts,
        };
        let fleet = view.count();
        let bounds = rules.bounds;
        let there = fleet.healthy_servers.saturating_add(fleet.coming_servers);
        let before = self.wanted.unwrap_or(there).clamp(bounds.min, bounds.max.max(bounds.min));
        let reading = self.signals.read(now.at, self.capacities.standard(), fleet.healthy);
        let situation = Situation {
            now,
            // A measurement counts for at most its maximum age.
            passed: self
                .decided
                .map_or(Duration::ZERO, |last| now.at.saturating_sub(last).min(rules.stale_after)),
            demand: reading.demand,
            is_complete: reading.unusable.is_none(),
            wanted: before,
            start_up: self.start_up,
            least: bounds.min,
            most: bounds.max.max(bounds.min),
        };
        let mut needed = None;
        let parts: Vec<Part> = rules
            .policies
            .iter()
            .zip(&mut self.trackers)
            .map(|(policy, tracker)| {
                let proposal = tracker.propose(&situation);
                needed = needed.max(Some(proposal.needed));
                Part { policy: policy.name(), wanted: proposal.wanted, reason: proposal.reason }
            })
            .collect();
        let (wanted, reason) = self.settle(&situation, &reading, &parts);
        let is_blind = reading.unusable.is_some();
        let mut plan = view.plan(&fleet, wanted, !is_blind || self.pinned.is_some());
        plan.alarms.extend(alarms(&reading, wanted, bounds.max));
        if wanted > before {
            self.raised = Some(now.at);
        }
        if wanted != before {
            self.changed = Some(now.at);
        }
        self.wanted = Some(wanted);
        self.decided = Some(now.at);
        Decision {
            wanted,
            needed: needed.unwrap_or(before),
            reason,
            parts,
            demand: reading.demand,
            fleet,
            actions: plan.actions,
            alarms: plan.alarms,
        }
    }

    /// Combines the proposals into the wanted number and its reason.
    fn settle(&self, situation: &Situation, reading: &Reading, parts: &[Part]) -> (u32, String) {
        let before = situation.wanted;
        if let Some(pinned) = self.pinned {
            let reason = match pinned {
                0 => "none were asked for by hand: all machines are drained and deleted, stopped ones too"
                    .to_owned(),
                _ => format!("{pinned} were asked for by hand"),
            };
            return (pinned.clamp(situation.least, situation.most), reason);
        }
        // Among equal proposals, the first policy decides.
        let highest = parts.iter().rev().max_by_key(|part| part.wanted);
        let (proposed, mut reason) = match highest {
            Some(part) => (part.wanted, format!("{}: {}", part.policy, part.reason)),
            None => (before, "there is no policy".to_owned()),
        };
        if let Some(why) = reading.unusable
            && proposed <= before
        {
            return (before, format!("{why}: held"));
        }
        let is_within = |since: Option<Duration>, pause: Duration| {
            since.is_some_and(|since| situation.now.at.saturating_sub(since) < pause)
        };
        let cool_down = self.rules.cool_down;
        if proposed > before && is_within(self.raised, cool_down.up)
            || proposed < before && is_within(self.changed, cool_down.down)
        {
            return (before, format!("{reason}; {proposed} would do, the last change is too recent"));
        }
        let wanted = proposed.clamp(situation.least, situation.most);
        if wanted != proposed {
            let which = if wanted > proposed { "fewer" } else { "more" };
            reason = format!("{reason}; no {which} than {wanted} are permitted");
        }
        (wanted, reason)
    }
}

fn alarms(reading: &Reading, wanted: u32, max: u32) -> Vec<Alarm> {
    let mut alarms = Vec::new();
    if let Some(why) = reading.unusable.filter(|why| !why.is_expected()) {
        alarms.push(Alarm::Blind(why));
    }
    if let Some(demand) = reading.demand
        && wanted >= max
        && servers_for(demand) > max
    {
        alarms.push(Alarm::Bounded { wanted: servers_for(demand), most: max });
    }
    alarms
}
