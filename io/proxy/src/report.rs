//! Lines for the operator on standard error: one for what happened, however often it happens.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

/// Writes a line.
pub fn line(text: &str) {
    use std::io::Write;
    // Whoever closed standard error does not want to know.
    let _ = writeln!(std::io::stderr().lock(), "weir: {text}");
}

/// Writes a line, but no more than one each second from all callers together: what floods would hide everything else,
/// and would cost the time that an overloaded process does not have.
pub(crate) fn throttled(text: impl FnOnce() -> String) {
    static LAST_SECOND: AtomicU64 = AtomicU64::new(0);
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    let last = LAST_SECOND.load(Ordering::Relaxed);
    if last != now && LAST_SECOND.compare_exchange(last, now, Ordering::Relaxed, Ordering::Relaxed).is_ok() {
        line(&text());
    }
}
