//! The kernel's ticks.

/// From what the kernel counts processors' time in (`sysconf(_SC_CLK_TCK)`, proc(5)).
pub(super) fn seconds(ticks: f64) -> f64 {
    ticks / rustix::param::clock_ticks_per_second() as f64
}
