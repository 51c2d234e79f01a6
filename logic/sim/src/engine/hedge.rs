//! Hedged requests: second tries at other servers, in parallel to slow first ones.

use weir_balance::Pick;
use weir_config::plan::HedgePlan;
use weir_stats::{Histogram, RecentPercentile};

use super::{Engine, Event};
use crate::flight_id::FlightId;
use crate::in_flight::{Flight, Try};
use crate::waiting::Goal;

/// Interval at which the delay is measured, the same as the proxy's.
const MEASURED_EVERY_NS: u64 = 1_000_000_000;

/// Data that determines when second tries start.
#[derive(Debug)]
pub(super) struct Hedging {
    /// Durations of requests since they were first sent, in microseconds.
    answers: Histogram,
    recent: RecentPercentile,
    /// Time that a first try may take before the second one; `None` = not known yet.
    delay_ns: Option<u64>,
}

impl Hedging {
    pub(super) fn new(rule: &HedgePlan) -> Self {
        Self {
            answers: Histogram::default(),
            recent: RecentPercentile::for_hedges(),
            delay_ns: rule.delay.map(|delay| delay.0.saturating_mul(1_000_000)),
        }
    }
}

impl Engine<'_> {
    /// Schedules the second try of a request that was just sent.
    pub(super) fn hedge_later(&mut self, id: FlightId) {
        if let Some(delay_ns) = self.hedging.as_ref().and_then(|hedging| hedging.delay_ns) {
            self.schedule(self.now_ns.saturating_add(delay_ns), Event::Hedge { flight: id });
        }
    }

    /// Sends a request that still has no response to another server as well. That server must have room, no
    /// request may wait for it, and the budget must permit it.
    pub(super) fn hedge(&mut self, id: FlightId) {
        let Some(flight) = self.flights.get_mut(id).copied() else { return };
        let Some(first) = flight.at.map(|first| first.server as usize) else { return };
        // If the request was retried since, there was an event for each time that it was sent.
        if flight.second.is_some() || !self.waiting.is_empty(Goal::Any) || !self.pool.has_room() {
            return;
        }
        let Pick::Server(slot) = self.pool.choose(&flight, self.now_ns, &[first]) else { return };
        // If no other server has room, the pool chooses an excluded one.
        if slot == first || !self.may_hedge() {
            self.pool.end(slot, None, None);
            return;
        }
        self.run.hedges += u64::from(flight.is_measured);
        if self.health[slot].failures > 0 {
            self.end_hedge_at_once();
            self.pool.end(slot, None, None);
            self.note_failure(slot as u32);
            return;
        }
        let second = self.begin_try(id, &flight, slot);
        if let Some(flight) = self.flights.get_mut(id) {
            flight.second = Some(second);
        }
    }

    /// Handles a server's response to a request; `other` is the try that is no longer needed.
    pub(super) fn end_hedge(&mut self, server: u32, flight: &Flight, other: Option<Try>) {
        let Some(hedging) = &mut self.hedging else { return };
        // For the pool, the duration of a request starts when it is first sent.
        hedging.answers.record(self.now_ns.saturating_sub(flight.sent_ns) / 1_000);
        if let Some(Try { server, stay }) = other {
            self.pool.overtaken(server as usize, stay, self.now_ns);
            // The other try's place is free as well.
            self.serve(Goal::Server(server));
        }
        let has_won = flight.second.is_some_and(|second| second.server == server);
        self.run.hedges_won += u64::from(has_won && flight.is_measured);
    }

    /// Updates the delay of second tries from the measured durations.
    pub(super) fn measure_answers(&mut self) {
        if let Some(hedging) = &mut self.hedging
            && let Some(us) = hedging.recent.read(&hedging.answers)
        {
            hedging.delay_ns = Some(us.max(1).saturating_mul(1_000));
        }
        self.measure_answers_later();
    }

    pub(super) fn measure_answers_later(&mut self) {
        self.schedule(self.now_ns.saturating_add(MEASURED_EVERY_NS), Event::MeasureAnswers);
    }
}
