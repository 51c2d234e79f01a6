use std::thread;
use std::time::{Duration, Instant};

/// How long tests wait for what must happen soon. Long, for machines that are slow or busy: a test that passes never
/// waits that long.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// Returns once `condition` holds.
///
/// # Panics
/// It does not hold within `deadline`; `what` is said to have been missed.
#[track_caller]
pub fn wait_until(what: &str, deadline: Duration, mut condition: impl FnMut() -> bool) {
    let end = Instant::now() + deadline;
    while !condition() {
        assert!(Instant::now() < end, "not within {deadline:?}: {what}");
        thread::sleep(Duration::from_millis(2));
    }
}
