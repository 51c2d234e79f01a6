use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use weir_http::ExpressionFailure;
use weir_http::expression::EvaluationError;

use super::{HttpListener, ListenerCounters};

/// Requests for which one route's expression failed, until the control plane reports them. Workers add, the control plane
/// takes.
#[derive(Debug, Default)]
pub struct ExpressionFailures {
    requests: AtomicU64,
    /// Why it failed for the first of them.
    cause: Mutex<Option<EvaluationError>>,
}

impl ExpressionFailures {
    /// Adds one request.
    pub fn add(&self, cause: &EvaluationError) {
        if self.requests.fetch_add(1, Ordering::Relaxed) == 0 {
            *self.cause.lock().unwrap_or_else(PoisonError::into_inner) = Some(cause.clone());
        }
    }

    /// Takes the requests since the last call, and the cause of the first of them.
    pub fn take(&self) -> Option<(u64, EvaluationError)> {
        if self.requests.load(Ordering::Relaxed) == 0 {
            return None;
        }
        // A worker that has counted but not written its cause yet is reported by the next call.
        let cause = self.cause.lock().unwrap_or_else(PoisonError::into_inner).take()?;
        Some((self.requests.swap(0, Ordering::Relaxed), cause))
    }
}

impl HttpListener {
    /// Counts expressions that failed for a request.
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
