//! Converts the kernel's ticks.

/// Converts ticks of CPU time (`sysconf(_SC_CLK_TCK)`, proc(5)) to seconds.
pub(super) fn seconds(ticks: f64) -> f64 {
    ticks / rustix::param::clock_ticks_per_second() as f64
}
