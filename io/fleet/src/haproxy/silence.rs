//! Pauses after commands without an answer.

use std::cell::Cell;
use std::io;
use std::time::{Duration, Instant};

/// Records that HAProxy did not answer a command. Further commands fail at once for a while, so that a
/// hanging HAProxy delays each look only once.
#[derive(Debug, Clone, Default)]
pub(crate) struct Silence(Cell<Option<Instant>>);

/// Pause before the next command. With looks a second apart, every second look is then on time.
const PAUSE: Duration = Duration::from_secs(1);

impl Silence {
    /// Checks that no pause is active.
    ///
    /// # Errors
    /// If HAProxy did not answer a recent command.
    pub(super) fn check(&self, now: Instant) -> io::Result<()> {
        match self.0.get() {
            Some(since) if now.saturating_duration_since(since) < PAUSE => Err(does_not_answer()),
            _ => Ok(()),
        }
    }

    /// Records the result of a command.
    pub(super) fn note<T>(&self, now: Instant, answered: &io::Result<T>) {
        let is_silent = answered.as_ref().is_err_and(|cause| cause.kind() == io::ErrorKind::TimedOut);
        self.0.set(is_silent.then_some(now));
    }
}

pub(super) fn does_not_answer() -> io::Error {
    io::Error::new(io::ErrorKind::TimedOut, "HAProxy does not answer: is it stopped, or overloaded?")
}
