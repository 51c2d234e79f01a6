//! Prevents concurrent work on the same file or password.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use tokio::sync::OwnedMutexGuard;

/// Work in progress on files or passwords, by key. The first caller works; later callers for the same key
/// wait and find the result.
#[derive(Debug)]
pub(crate) struct Flights<K> {
    by_file: Mutex<HashMap<K, Weak<Turn>>>,
}

type Turn = tokio::sync::Mutex<()>;

impl<K: Eq + Hash> Flights<K> {
    /// Waits until no other task holds the turn for `file`. Dropping the returned guard ends the turn.
    pub(crate) async fn turn(&self, file: K) -> OwnedMutexGuard<()> {
        self.of(file).lock_owned().await
    }

    fn of(&self, file: K) -> Arc<Turn> {
        let mut by_file = self.by_file.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(turn) = by_file.get(&file).and_then(Weak::upgrade) {
            return turn;
        }
        // Removing dead entries at each insertion bounds the map: at most one turn per key that is in use,
        // plus this one.
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

    /// Polls a future once and returns its output if it is ready.
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
        // Turns that are over are removed.
        let _third = now(flights.turn((1, 3))).unwrap();
        assert_eq!(flights.by_file.lock().unwrap().len(), 1);
    }
}
