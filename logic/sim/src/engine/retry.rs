//! Retries, within their budget.

use weir_http::RetryBudget;

use super::Engine;
use crate::flight_id::FlightId;
use crate::in_flight::Flight;

impl Engine<'_> {
    /// Returns true if a request whose server is dead may be retried, and then counts the retry. Call it
    /// while the request still counts as in flight.
    pub(super) fn may_retry(&mut self, id: FlightId) -> bool {
        let retries_max = self.scenario.balancer.retries;
        let Some(flight) = self.flights.get_mut(id).filter(|flight| flight.retries < retries_max) else {
            return false;
        };
        flight.retries += 1;
        // The previous try is over.
        let was_retried = std::mem::replace(&mut flight.is_retried, false);
        self.retrying -= u32::from(was_retried);
        // Number of retries that all requests in flight could need.
        let at_once = u64::from(self.pool.requests()) * u64::from(retries_max);
        let may = self.take(|budget, now_ms, requests| budget.take_for_lost(now_ms, requests, at_once));
        if let (true, Some(flight)) = (may, self.flights.get_mut(id)) {
            flight.is_retried = true;
        }
        may
    }

    /// Returns true if a second try may run in parallel to a first one, and then takes it from the budget.
    pub(super) fn may_hedge(&mut self) -> bool {
        self.take(RetryBudget::take)
    }

    /// Ends a permitted second try that failed at once.
    pub(super) fn end_hedge_at_once(&mut self) {
        self.retrying -= 1;
    }

    /// Ends this server's try of a request with two tries. The other one continues alone.
    pub(super) fn end_one_of_two(&mut self, flight: &mut Flight, server: u32) {
        let was_second = flight.second.is_some_and(|second| second.server == server);
        // The second try always counts as a retry.
        self.retrying -= u32::from(was_second || flight.is_retried);
        flight.is_retried |= !was_second;
    }

    /// Ends all tries of a request that is over.
    pub(super) fn end_tries(&mut self, flight: &Flight) {
        self.retrying -= u32::from(flight.is_retried) + u32::from(flight.second.is_some());
    }

    /// Takes one more try from the budget, unless too many are in progress or were made.
    fn take(&mut self, take: impl FnOnce(&mut RetryBudget, u64, u64) -> bool) -> bool {
        let (now_ms, requests) = (self.now_ns / 1_000_000, self.arrived);
        let is_permitted = self.retrying < self.retrying_max()
            && self.budget.as_mut().is_none_or(|budget| take(budget, now_ms, requests));
        self.retrying += u32::from(is_permitted);
        is_permitted
    }

    /// Returns the most retries that may be in progress, by the proxy's rule.
    fn retrying_max(&self) -> u32 {
        let Some(rule) = self.scenario.balancer.retry_budget.and_then(|budget| budget.at_once) else {
            return u32::MAX;
        };
        let share = u64::from(self.pool.requests()) * u64::from(rule.percent) / 100;
        u32::try_from(share).unwrap_or(u32::MAX).max(rule.min)
    }
}
