//! Further tries, as far as their budget permits.

use weir_http::RetryBudget;

use super::Engine;
use crate::in_flight::FlightId;

impl Engine<'_> {
    /// Whether a request may be tried again whose server is dead; then that counts as done. To be asked while it still counts as one of those in flight.
    pub(super) fn may_retry(&mut self, id: FlightId) -> bool {
        let retries_max = self.scenario.balancer.retries;
        let Some(flight) = self.flights.get_mut(id).filter(|flight| flight.retries < retries_max) else {
            return false;
        };
        flight.retries += 1;
        // What all that is in flight would need.
        let at_once = u64::from(self.pool.requests()) * u64::from(retries_max);
        self.take(|budget, now_ms, requests| budget.take_for_lost(now_ms, requests, at_once))
    }

    /// Whether there may be a second try beside a first one; then it is taken from the budget.
    pub(super) fn may_hedge(&mut self) -> bool {
        self.take(RetryBudget::take)
    }

    fn take(&mut self, take: impl FnOnce(&mut RetryBudget, u64, u64) -> bool) -> bool {
        let (now_ms, requests) = (self.now_ns / 1_000_000, self.arrived);
        self.budget.as_mut().is_none_or(|budget| take(budget, now_ms, requests))
    }
}
