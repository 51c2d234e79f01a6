use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use tokio::sync::OwnedMutexGuard;

/// What is under way about files or passwords, each by its key, so that nobody does the same beside: who comes later waits, and finds
/// it done.
#[derive(Debug)]
pub(crate) struct Flights<K> {
    by_file: Mutex<HashMap<K, Weak<Turn>>>,
}

type Turn = tokio::sync::Mutex<()>;

impl<K: Eq + Hash> Flights<K> {
    /// Waits until nobody else is at work at a file. The turn ends when what is returned is dropped.
    pub(crate) async fn turn(&self, file: K) -> OwnedMutexGuard<()> {
        self.of(file).lock_owned().await
    }

    fn of(&self, file: K) -> Arc<Turn> {
        let mut by_file = self.by_file.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(turn) = by_file.get(&file).and_then(Weak::upgrade) {
            return turn;
        }
        // There are no more of those that are over than of those that are not, but for this one.
        by_file.retain(|_, turn| turn.strong_count() > 0);
        let turn = Arc::default();
        by_file.insert(file, Arc::downgrade(&turn));
        turn
    }
}

impl<K> Default for Flights<K> {
    fn default() -> Self {
        Self { by_file: Mutex::default() }
    }
}

#[cfg(test)]
mod tests {
    use std::pin::pin;
    use std::task::{Context, Poll, Waker};

    use super::*;

    /// What it comes to without waiting.
    fn now<F: Future>(future: F) -> Option<F::Output> {
        match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(output) => Some(output),
            Poll::Pending => None,
        }
    }

    #[test]
    fn one_at_a_time_is_at_work_at_a_file() {
        let flights = Flights::default();
        let first = now(flights.turn((1, 1))).unwrap();
        let other = now(flights.turn((1, 2))).unwrap();
        assert!(now(flights.turn((1, 1))).is_none());
        drop(first);
        assert!(now(flights.turn((1, 1))).is_some());
        drop(other);
        // What is over is forgotten.
        let _third = now(flights.turn((1, 3))).unwrap();
        assert_eq!(flights.by_file.lock().unwrap().len(), 1);
    }
}
