//! Lines for the operator on standard error: one for what happened, however often it happens.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Writes a line.
pub fn line(text: &str) {
    use std::io::Write;
    // Whoever closed standard error does not want to know.
    let _ = writeln!(std::io::stderr().lock(), "weir: {text}");
}

/// Writes a line, but no more than one each second from all callers together: what floods would hide everything else,
/// and would cost the time that an overloaded process does not have.
pub(crate) fn throttled(text: impl FnOnce() -> String) {
    static EVERY_SECOND: Seldom = Seldom::every(Duration::from_secs(1));
    EVERY_SECOND.line(text);
}

/// Writes a line now and then: of what goes on for long, and must not hide what else happens.
#[derive(Debug)]
pub(crate) struct Seldom {
    interval: Duration,
    /// Seconds since 1970.
    last: AtomicU64,
}

impl Seldom {
    pub(crate) const fn every(interval: Duration) -> Self {
        Self { interval, last: AtomicU64::new(0) }
    }

    /// Writes it, unless the last one is not long ago.
    pub(crate) fn line(&self, text: impl FnOnce() -> String) {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
        if self.is_time(now) {
            line(&text());
        }
    }

    fn is_time(&self, now: u64) -> bool {
        let last = self.last.load(Ordering::Relaxed);
        // A clock that was set back is no reason to be silent.
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
