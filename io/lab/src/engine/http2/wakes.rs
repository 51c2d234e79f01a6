//! Wakers of an HTTP/2 connection and its streams.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Wake, Waker};

/// Record of the connection and streams that must be polled. Only one thread uses it, but a waker must be
/// thread-safe.
#[derive(Debug, Default)]
pub(super) struct Wakes {
    connection: AtomicBool,
    /// Woken streams, by lane.
    streams: Mutex<Vec<usize>>,
}

impl Wakes {
    pub(super) fn waker(self: &Arc<Self>) -> Waker {
        Waker::from(Arc::clone(self))
    }

    /// Returns a waker for the stream on a lane, and its state.
    pub(super) fn stream(self: &Arc<Self>, lane: usize) -> (Arc<StreamWake>, Waker) {
        let wake = Arc::new(StreamWake { all: Arc::clone(self), lane, is_woken: AtomicBool::new(false) });
        (Arc::clone(&wake), Waker::from(wake))
    }

    /// Returns true if the connection was woken since the last call.
    pub(super) fn take_connection(&self) -> bool {
        self.connection.swap(false, Relaxed)
    }

    /// Moves the lanes of woken streams into `out`, which must be empty.
    pub(super) fn take_streams(&self, out: &mut Vec<usize>) {
        std::mem::swap(&mut *self.streams.lock().unwrap_or_else(PoisonError::into_inner), out);
    }
}

impl Wake for Wakes {
    fn wake(self: Arc<Self>) {
        self.connection.store(true, Relaxed);
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.connection.store(true, Relaxed);
    }
}

/// Wake state of one stream.
#[derive(Debug)]
pub(super) struct StreamWake {
    all: Arc<Wakes>,
    lane: usize,
    is_woken: AtomicBool,
}

impl StreamWake {
    /// Clears the state before a poll, so that later wake-ups count again.
    pub(super) fn clear(&self) {
        self.is_woken.store(false, Relaxed);
    }
}

impl Wake for StreamWake {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        if !self.is_woken.swap(true, Relaxed) {
            self.all.streams.lock().unwrap_or_else(PoisonError::into_inner).push(self.lane);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stream_that_is_woken_twice_is_looked_at_once() {
        let wakes = Arc::new(Wakes::default());
        let ((wake, waker), mut woken) = (wakes.stream(7), Vec::new());
        waker.wake_by_ref();
        waker.wake_by_ref();
        wakes.take_streams(&mut woken);
        assert_eq!(woken, [7]);
        woken.clear();
        wake.clear();
        waker.wake_by_ref();
        wakes.take_streams(&mut woken);
        assert_eq!(woken, [7]);
        assert!(!wakes.take_connection());
        wakes.waker().wake();
        assert!(wakes.take_connection() && !wakes.take_connection());
    }
}
