//! What the system tells of this process and the machine.

use std::fs;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// CPU time that was used, to 10 ms.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct CpuTime {
    pub(super) user_ns: u64,
    pub(super) system_ns: u64,
}

/// Of USER_HZ, which is 100 on every platform that Linux has these figures on (proc_pid_stat(5)).
const TICK_NS: u64 = 10_000_000;

impl CpuTime {
    /// Of this process so far; 0 if it is not to be had.
    pub(super) fn of_process() -> Self {
        let ticks = || {
            let text = fs::read_to_string("/proc/self/stat").ok()?;
            // The name before may have blanks and parentheses in it.
            let (_, rest) = text.rsplit_once(')')?;
            let mut fields = rest.split_ascii_whitespace().skip(11).map(str::parse::<u64>);
            Some((fields.next()?.ok()?, fields.next()?.ok()?))
        };
        let (user, system) = ticks().unwrap_or_default();
        Self { user_ns: user * TICK_NS, system_ns: system * TICK_NS }
    }
}

/// What all processors together have spent in interrupts since the machine started, to 10 ms; 0 if it is not to be had.
pub(super) fn interrupts_ns() -> u64 {
    let text = fs::read_to_string("/proc/stat").unwrap_or_default();
    // cpu user nice system idle iowait irq softirq (proc_stat(5)).
    let fields = text.lines().next().unwrap_or_default().split_ascii_whitespace().skip(6).take(2);
    fields.filter_map(|ticks| ticks.parse::<u64>().ok()).sum::<u64>() * TICK_NS
}

/// Raises the soft limit of open files to the hard one.
pub(crate) fn raise_descriptor_limit() {
    let limit = getrlimit(Resource::Nofile);
    // If the kernel refuses, the old limit holds, and a run that needs more will say so.
    let _ = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, maximum: limit.maximum });
}
