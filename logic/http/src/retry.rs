//! The retry policy: the conditions and the budget for retries.

use crate::Method;

/// The progress of an exchange when it failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Progress {
    /// No byte of the request was written.
    NothingWritten,
    /// At least a part of the request was written, but the client has received nothing of a response.
    Written,
    /// The client has received a part of a response, which may be an interim one.
    PassedOn,
}

/// The facts about a failed attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FailedTry {
    /// Progress at the time of the failure.
    pub progress: Progress,
    /// True if the server certainly processed nothing, although bytes were written. This holds for a reused
    /// connection that the server had closed before the first of these bytes. That the connection was reused
    /// is not enough.
    pub certainly_unprocessed: bool,
    /// True if all body bytes read from the client are still available, or if none were read.
    pub body_replayable: bool,
}

/// Returns true if a failed request may be sent again. MOVE, COPY, DELETE, MKCOL and PUT are idempotent by
/// definition, but a replay after a success would report 404, 405 or 412. Therefore, once a byte was written,
/// only safe methods are repeated, unless the server certainly processed nothing.
pub fn may_retry(method: &Method, failed: &FailedTry) -> bool {
    if !failed.body_replayable {
        return false;
    }
    match failed.progress {
        Progress::NothingWritten => true,
        Progress::Written => failed.certainly_unprocessed || method.is_safe(),
        Progress::PassedOn => false,
    }
}

/// The limit of retries to a share of the requests, so that retries cannot amplify an outage. It is a token
/// bucket: requests and time fill it, retries empty it. The caller provides the time, in milliseconds of any
/// steady clock, and the total number of requests. That number is needed only for a retry, so a budget shared
/// by all workers costs nothing for other requests.
#[derive(Debug, Clone)]
pub struct RetryBudget {
    /// Available retries, in thousandths.
    tokens_milli: u64,
    tokens_milli_max: u64,
    per_request_milli: u64,
    per_second: u64,
    /// Borrowed retries to pay back, in thousandths.
    debt_milli: u64,
    filled_at_ms: u64,
    filled_at_requests: u64,
}

impl RetryBudget {
    /// Creates a budget that allows `percent` of the requests as retries, and always `per_second` more. It
    /// keeps the unused retries per second for at most ten seconds. It can hold at least ten retries if any
    /// are allowed.
    pub fn new(percent: u8, per_second: u32, now_ms: u64, requests_total: u64) -> Self {
        let per_second = u64::from(per_second);
        let per_request_milli = u64::from(percent.min(100)) * 10;
        let any = per_second > 0 || per_request_milli > 0;
        let tokens_milli_max = if any { (per_second * Self::SECONDS_KEPT * 1_000).max(10_000) } else { 0 };
        Self {
            tokens_milli: (per_second * 1_000).min(tokens_milli_max),
            tokens_milli_max,
            per_request_milli,
            per_second,
            debt_milli: 0,
            filled_at_ms: now_ms,
            filled_at_requests: requests_total,
        }
    }

    const SECONDS_KEPT: u64 = 10;

    /// Takes a retry from the budget; returns false if none is available. `requests_total` is the number of
    /// first attempts so far.
    pub fn take(&mut self, now_ms: u64, requests_total: u64) -> bool {
        self.fill(now_ms, requests_total);
        match self.tokens_milli.checked_sub(1_000) {
            Some(left) => {
                self.tokens_milli = left;
                true
            }
            None => false,
        }
    }

    /// Takes a retry for a request that lost its server. When a server dies, all of its requests fail at the
    /// same moment. If retries are allowed, the budget therefore lends up to `at_once` retries beyond the
    /// available ones. New tokens first pay back this debt, so that over time the retries stay within the
    /// limit.
    pub fn take_for_lost(&mut self, now_ms: u64, requests_total: u64, at_once: u64) -> bool {
        if self.take(now_ms, requests_total) {
            return true;
        }
        let debt_milli = self.debt_milli + 1_000;
        let is_lent = self.tokens_milli_max > 0 && debt_milli <= at_once.saturating_mul(1_000);
        if is_lent {
            self.debt_milli = debt_milli;
        }
        is_lent
    }

    fn fill(&mut self, now_ms: u64, requests_total: u64) {
        let requests = requests_total.saturating_sub(self.filled_at_requests);
        self.filled_at_requests = self.filled_at_requests.max(requests_total);
        let elapsed_ms = now_ms.saturating_sub(self.filled_at_ms);
        self.filled_at_ms = self.filled_at_ms.max(now_ms);
        let gained_milli = elapsed_ms
            .saturating_mul(self.per_second)
            .saturating_add(requests.saturating_mul(self.per_request_milli));
        let paid_milli = gained_milli.min(self.debt_milli);
        self.debt_milli -= paid_milli;
        let tokens_milli = self.tokens_milli.saturating_add(gained_milli - paid_milli);
        self.tokens_milli = tokens_milli.min(self.tokens_milli_max);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Span;

    const CLEAN: FailedTry =
        FailedTry { progress: Progress::NothingWritten, certainly_unprocessed: false, body_replayable: true };

    #[test]
    fn what_was_never_written_may_be_sent_whatever_it_is() {
        for method in [Method::Post, Method::Move, Method::Get, Method::Other(Span::EMPTY)] {
            assert!(may_retry(&method, &CLEAN));
        }
    }

    #[test]
    fn what_was_written_may_be_sent_again_only_if_it_is_safe() {
        let written = FailedTry { progress: Progress::Written, ..CLEAN };
        for safe in
            [Method::Get, Method::Head, Method::Options, Method::Propfind, Method::Report, Method::Search]
        {
            assert!(may_retry(&safe, &written), "{safe:?}");
        }
        for unsafe_ in [
            Method::Post,
            Method::Put,
            Method::Delete,
            Method::Patch,
            Method::Move,
            Method::Copy,
            Method::Mkcol,
            Method::Lock,
            Method::Unlock,
            Method::Proppatch,
            Method::Connect,
            Method::Other(Span::EMPTY),
        ] {
            assert!(!may_retry(&unsafe_, &written), "{unsafe_:?}");
            assert!(
                may_retry(&unsafe_, &FailedTry { certainly_unprocessed: true, ..written }),
                "{unsafe_:?}"
            );
        }
    }

    #[test]
    fn nothing_is_sent_again_once_the_client_has_something_or_the_body_is_gone() {
        let started = FailedTry { progress: Progress::PassedOn, certainly_unprocessed: true, ..CLEAN };
        assert!(!may_retry(&Method::Get, &started));
        assert!(!may_retry(&Method::Put, &FailedTry { body_replayable: false, ..CLEAN }));
    }

    #[test]
    fn a_budget_gives_a_share_of_the_requests() {
        let mut budget = RetryBudget::new(20, 0, 0, 7);
        assert!(!budget.take(0, 7));
        let retries = (8..=1_007).filter(|total| budget.take(0, *total));
        assert_eq!(retries.count(), 200);
        // A lower total, read by another worker a moment earlier, adds nothing and takes nothing away.
        assert!(!budget.take(0, 900));
        assert!(budget.take(0, 1_012) && !budget.take(0, 1_012));
    }

    #[test]
    fn a_budget_gives_so_many_a_second_without_any_request() {
        let mut budget = RetryBudget::new(0, 3, 1_000, 0);
        let mut taken = |now_ms| std::iter::from_fn(|| budget.take(now_ms, 0).then_some(())).count();
        assert_eq!(taken(1_000), 3);
        assert_eq!(taken(1_333), 0);
        assert_eq!(taken(1_334), 1);
        assert_eq!(taken(3_000), 5);
        // Unused retries are kept for ten seconds only; a clock that stops or jumps back adds nothing.
        assert_eq!(taken(1_000_000), 30);
        assert_eq!(taken(5_000), 0);
        assert_eq!(taken(u64::MAX), 30);
    }

    #[test]
    fn unused_shares_are_kept_only_so_far() {
        let mut budget = RetryBudget::new(100, 0, 0, 0);
        assert_eq!(std::iter::from_fn(|| budget.take(0, 100_000).then_some(())).count(), 10);
    }

    #[test]
    fn all_requests_of_a_server_that_dies_are_tried_again_and_others_when_that_is_paid_back() {
        let mut budget = RetryBudget::new(20, 10, 0, 0);
        let mut lost = |now_ms, total| {
            std::iter::from_fn(|| budget.take_for_lost(now_ms, total, 300).then_some(())).count()
        };
        assert_eq!(lost(0, 0), 10 + 300);
        assert_eq!(lost(1_000, 100), 10 + 20, "only what was paid back meanwhile");
        assert!(!budget.take(10_000, 200), "others wait until everything is");
        assert!(budget.take(30_000, 300));
    }

    #[test]
    fn no_budget_gives_no_retries() {
        let mut budget = RetryBudget::new(0, 0, 0, 0);
        assert!(!budget.take(u64::MAX, u64::MAX));
        assert!(!budget.take_for_lost(u64::MAX, u64::MAX, 1_000));
    }
}
