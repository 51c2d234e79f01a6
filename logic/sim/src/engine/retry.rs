//! Further tries, as far as their budget permits.

use weir_http::RetryBudget;

use super::Engine;
use crate::in_flight::{Flight, FlightId};

impl Engine<'_> {
    /// Whether a request may be tried again whose server is dead; then that counts as done. To be asked while it still counts as one of those in flight.
    pub(super) fn may_retry(&mut self, id: FlightId) -> bool {
        let retries_max = self.scenario.balancer.retries;
        let Some(flight) = self.flights.get_mut(id).filter(|flight| flight.retries < retries_max) else {
            return false;
        };
        flight.retries += 1;
        // The try before is over.
        let was_retried = std::mem::replace(&mut flight.is_retried, false);
        self.retrying -= u32::from(was_retried);
        // What all that is in flight would need.
        let at_once = u64::from(self.pool.requests()) * u64::from(retries_max);
        let may = self.take(|budget, now_ms, requests| budget.take_for_lost(now_ms, requests, at_once));
        if let (true, Some(flight)) = (may, self.flights.get_mut(id)) {
            flight.is_retried = true;
        }
        may
    }

    /// Whether there may be a second try beside a first one; then it is taken from the budget.
    pub(super) fn may_hedge(&mut self) -> bool {
        self.take(RetryBudget::take)
    }

    /// A second try that was permitted came to nothing.
    pub(super) fn end_hedge_at_once(&mut self) {
        self.retrying -= 1;
    }

    /// Of two tries of a request this server's is over. The other one goes on as the only one.
    pub(super) fn end_one_of_two(&mut self, flight: &mut Flight, server: u32) {
        let was_second = flight.second.is_some_and(|second| second.server == server);
        // The second one counts in any case.
        self.retrying -= u32::from(was_second || flight.is_retried);
        flight.is_retried |= !was_second;
    }

    /// A request is over, and so are all of its tries.
    pub(super) fn end_tries(&mut self, flight: &Flight) {
        self.retrying -= u32::from(flight.is_retried) + u32::from(flight.second.is_some());
    }

    /// Takes a further try, unless too many are under way or were made.
    fn take(&mut self, take: impl FnOnce(&mut RetryBudget, u64, u64) -> bool) -> bool {
        let (now_ms, requests) = (self.now_ns / 1_000_000, self.arrived);
        let is_permitted = self.retrying < self.retrying_max()
            && self.budget.as_mut().is_none_or(|budget| take(budget, now_ms, requests));
        self.retrying += u32::from(is_permitted);
        is_permitted
    }

    /// So many may be under way, by the rule of the proxy.
    fn retrying_max(&self) -> u32 {
        let Some(rule) = self.scenario.balancer.retry_budget.and_then(|budget| budget.at_once) else {
            return u32::MAX;
        };
        let share = u64::from(self.pool.requests()) * u64::from(rule.percent) / 100;
        u32::try_from(share).unwrap_or(u32::MAX).max(rule.min)
    }
}
