//! Counts the requests for which a route's expression failed.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use weir_http::ExpressionFailure;
use weir_http::expression::EvaluationError;

use super::{HttpListener, ListenerCounters};

/// Requests for which the expression of one route failed since the last report. Workers add to it; the
/// control plane takes the counts.
#[derive(Debug, Default)]
pub struct ExpressionFailures {
    requests: AtomicU64,
    /// Cause of the first failure.
    cause: Mutex<Option<EvaluationError>>,
}

impl ExpressionFailures {
    /// Adds one request; the first cause since the last report is kept.
    pub fn add(&self, cause: &EvaluationError) {
        if self.requests.fetch_add(1, Ordering::Relaxed) == 0 {
            *self.cause.lock().unwrap_or_else(PoisonError::into_inner) = Some(cause.clone());
        }
    }

    /// Takes the number of requests since the last call, and the cause of the first one.
    pub fn take(&self) -> Option<(u64, EvaluationError)> {
        if self.requests.load(Ordering::Relaxed) == 0 {
            return None;
        }
        // A worker may have counted its request and not stored its cause yet. The next call reports that
        // request.
        let cause = self.cause.lock().unwrap_or_else(PoisonError::into_inner).take()?;
        Some((self.requests.swap(0, Ordering::Relaxed), cause))
    }
}

impl HttpListener {
    /// Counts the expressions that failed for one request.
    #[cold]
    pub fn count_failures(&self, counters: &ListenerCounters, failures: &[ExpressionFailure]) {
        for failure in failures {
            let counter =
                if failure.denied { &counters.expressions_denied } else { &counters.expressions_passed_over };
            counter.one();
            if let Some(route) = self.routes.get(failure.route) {
                route.failures.add(&failure.error);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failures_are_taken_once_with_their_number_and_the_first_cause() {
        let failures = ExpressionFailures::default();
        assert_eq!(failures.take(), None);
        let cause = |text: &str| EvaluationError::Failed(text.to_owned());
        for text in ["a", "b", "c"] {
            failures.add(&cause(text));
        }
        assert_eq!(failures.take(), Some((3, cause("a"))));
        assert_eq!(failures.take(), None);
        failures.add(&cause("d"));
        assert_eq!(failures.take(), Some((1, cause("d"))));
    }
}
