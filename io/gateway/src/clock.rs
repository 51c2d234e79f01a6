//! Wall-clock time.

use std::time::{SystemTime, UNIX_EPOCH};

/// Returns the current time in seconds since 1970, or 0 if the clock is set before that.
pub(crate) fn unix_now_s() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}
