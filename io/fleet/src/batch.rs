//! Combines concurrent requests into one call: for example, ten more pods are one change of a replica count.

use std::cell::RefCell;

use tokio::sync::Mutex;
use tokio::task::yield_now;

use crate::{Failure, FailureKind};

/// Requests that wait for the next call, and results of earlier calls.
#[derive(Debug)]
pub(crate) struct Batch<K, T> {
    waiting: RefCell<Vec<K>>,
    done: RefCell<Vec<(K, Result<T, Failure>)>>,
}

impl<K, T> Default for Batch<K, T> {
    fn default() -> Self {
        Self { waiting: RefCell::default(), done: RefCell::default() }
    }
}

impl<K: Clone + PartialEq, T> Batch<K, T> {
    /// Executes `work` for a key. The first caller executes it for all keys that wait by then. The lock
    /// `turn` lets one call run at a time.
    pub(crate) async fn join(
        &self,
        key: K,
        turn: &Mutex<()>,
        work: impl AsyncFnOnce(Vec<K>) -> Vec<(K, Result<T, Failure>)>,
    ) -> Result<T, Failure> {
        let seat = Seat { batch: self, key };
        self.waiting.borrow_mut().push(seat.key.clone());
        // Other callers of the same moment enqueue their keys first.
        yield_now().await;
        let _turn = turn.lock().await;
        if let Some(result) = self.take(&seat.key) {
            return result;
        }
        let keys = std::mem::take(&mut *self.waiting.borrow_mut());
        if keys.contains(&seat.key) {
            let results = work(keys).await;
            self.done.borrow_mut().extend(results);
        }
        // The caller that executed the work was dropped before the end.
        let lost = || Err(Failure::new(FailureKind::Uncertain, "it was begun, and not awaited"));
        self.take(&seat.key).unwrap_or_else(lost)
    }

    fn take(&self, key: &K) -> Option<Result<T, Failure>> {
        let mut done = self.done.borrow_mut();
        let at = done.iter().position(|(of, _)| of == key)?;
        Some(done.swap_remove(at).1)
    }
}

/// Removes the key of a caller that was dropped.
struct Seat<'a, K: Clone + PartialEq, T> {
    batch: &'a Batch<K, T>,
    key: K,
}

impl<K: Clone + PartialEq, T> Drop for Seat<'_, K, T> {
    fn drop(&mut self) {
        self.batch.waiting.borrow_mut().retain(|key| *key != self.key);
        self.batch.take(&self.key);
    }
}
