//! Writes messages for the operator to standard error, with limits for repeated ones.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Writes a line.
pub fn line(text: &str) {
    use std::io::Write;
    // Errors are ignored: if standard error is closed, there is no place left to report them.
    let _ = writeln!(std::io::stderr().lock(), "weir: {text}");
}

/// Writes a line, at most one a second from all callers together. A flood of lines would hide all others, and
/// an overloaded process has no time to write it.
pub(crate) fn throttled(text: impl FnOnce() -> String) {
    static EVERY_SECOND: Seldom = Seldom::every(Duration::from_secs(1));
    EVERY_SECOND.line(text);
}

/// Writes a line at most once per interval, for conditions that last and must not hide other messages.
#[derive(Debug)]
pub(crate) struct Seldom {
    interval: Duration,
    /// Time of the last line, in seconds since 1970.
    last: AtomicU64,
}

impl Seldom {
    pub(crate) const fn every(interval: Duration) -> Self {
        Self { interval, last: AtomicU64::new(0) }
    }

    /// Writes the line, unless the last one was written within the interval.
    pub(crate) fn line(&self, text: impl FnOnce() -> String) {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
        if self.is_time(now) {
            line(&text());
        }
    }

    fn is_time(&self, now: u64) -> bool {
        let last = self.last.load(Ordering::Relaxed);
        // A clock that was set back must not suppress messages.
        let is_long_ago = now < last || now - last >= self.interval.as_secs();
        is_long_ago && self.last.compare_exchange(last, now, Ordering::Relaxed, Ordering::Relaxed).is_ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_goes_on_for_long_is_told_now_and_then() {
        let seldom = Seldom::every(Duration::from_secs(60));
        let told = [1_000, 1_001, 1_059, 1_060, 1_061, 500, 501].map(|now| seldom.is_time(now));
        assert_eq!(told, [true, false, false, true, false, true, false]);
    }
}
