//! Waiting for conditions in tests.

use std::thread;
use std::time::{Duration, Instant};

/// Time for which tests wait for an event that should occur soon. It is long for slow or busy machines; a
/// passing test never waits so long.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// Waits until `condition` holds.
///
/// # Panics
/// If it does not hold within `deadline`; the message contains `what`.
#[track_caller]
pub fn wait_until(what: &str, deadline: Duration, mut condition: impl FnMut() -> bool) {
    let end = Instant::now() + deadline;
    while !condition() {
        assert!(Instant::now() < end, "not within {deadline:?}: {what}");
        thread::sleep(Duration::from_millis(2));
    }
}
