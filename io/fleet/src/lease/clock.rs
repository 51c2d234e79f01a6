//! Clock of leases.

use std::time::Duration;

/// Returns the time since boot, including suspension. It is monotonic and continues while the machine is
/// suspended, like the clock of a remote store.
pub(super) fn since_boot() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::Boottime);
    Duration::new(time.tv_sec.unsigned_abs(), u32::try_from(time.tv_nsec).unwrap_or(0))
}
