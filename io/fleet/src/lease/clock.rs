use std::time::Duration;

/// Time since the boot, sleep included: it does not go back, and goes on while the machine is suspended, as the clock of a store
/// elsewhere does.
pub(super) fn since_boot() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::Boottime);
    Duration::new(time.tv_sec.unsigned_abs(), u32::try_from(time.tv_nsec).unwrap_or(0))
}
