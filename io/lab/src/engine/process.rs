//! Reads CPU times of this process and of the machine, and raises its limit of file descriptors.

use std::fs;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// CPU time, with a resolution of 10 ms.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct CpuTime {
    pub(super) user_ns: u64,
    pub(super) system_ns: u64,
}

/// Duration of a tick. USER_HZ is 100 on every platform on which Linux reports these figures
/// (proc_pid_stat(5)).
const TICK_NS: u64 = 10_000_000;

impl CpuTime {
    /// Returns the CPU time of this process so far, or 0 if it is unavailable.
    pub(super) fn of_process() -> Self {
        let ticks = || {
            let text = fs::read_to_string("/proc/self/stat").ok()?;
            // The process name before it may contain spaces and parentheses.
            let (_, rest) = text.rsplit_once(')')?;
            let mut fields = rest.split_ascii_whitespace().skip(11).map(str::parse::<u64>);
            Some((fields.next()?.ok()?, fields.next()?.ok()?))
        };
        let (user, system) = ticks().unwrap_or_default();
        Self { user_ns: user * TICK_NS, system_ns: system * TICK_NS }
    }
}

/// Returns the time that all processors have spent in interrupts since boot, with a resolution of 10 ms, or 0
/// if it is unavailable.
pub(super) fn interrupts_ns() -> u64 {
    let text = fs::read_to_string("/proc/stat").unwrap_or_default();
    // cpu user nice system idle iowait irq softirq (proc_stat(5)).
    let fields = text.lines().next().unwrap_or_default().split_ascii_whitespace().skip(6).take(2);
    fields.filter_map(|ticks| ticks.parse::<u64>().ok()).sum::<u64>() * TICK_NS
}

/// Raises the soft limit of open files to the hard limit.
pub(crate) fn raise_descriptor_limit() {
    let limit = getrlimit(Resource::Nofile);
    // If the kernel refuses, the old limit remains, and a run that needs more descriptors reports a fault.
    let _ = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, maximum: limit.maximum });
}
