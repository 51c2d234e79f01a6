//! Detection of stalls of the machine. The hypervisor may take a virtual processor away for milliseconds,
//! which delays the current requests. If that affects one request in a hundred, it determines the 99th
//! percentile.
//!
//! On each core a program with the highest priority sleeps for a short time again and again. If it
//! oversleeps, no program ran on the core, and the requests of that time are left out.

use std::ops::Range;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use rustix::process::{Signal, set_parent_process_death_signal};
use rustix::thread::{ClockId, clock_nanosleep_absolute};
use rustix::time::{Timespec, clock_gettime};

use crate::error::{Context, Error, Result};
use crate::process::{Cores, Process};
use crate::workshop::Workshop;

/// Interval between two checks.
const LOOK: Duration = Duration::from_micros(250);

/// Delay above which an oversleep counts as a stall. The kernel may also work for a balancer that long
/// without a preemption: compare the shares that were left out.
const STALL: Duration = Duration::from_micros(500);

/// Line that a program prints when it begins.
const READY: &str = "ready";

/// Returns CLOCK_MONOTONIC in nanoseconds, which is the same for all programs of the machine.
pub(crate) fn now_ns() -> u64 {
    nanoseconds(clock_gettime(rustix::time::ClockId::Monotonic))
}

fn nanoseconds(time: Timespec) -> u64 {
    u64::try_from(time.tv_sec).unwrap_or(0) * 1_000_000_000 + u64::try_from(time.tv_nsec).unwrap_or(0)
}

/// The running detection programs; they end when this is dropped.
#[derive(Debug)]
pub(crate) struct Lookouts {
    found: [PathBuf; 2],
    _processes: [Process; 2],
}

impl Lookouts {
    /// Starts one on each core.
    ///
    /// # Errors
    /// If `chrt` of util-linux cannot be started, or real-time priority is not permitted.
    pub(crate) fn post(workshop: &Workshop) -> Result<Self> {
        let program = std::env::current_exe().context("this program's own file")?;
        let post = |cores: Cores, name: &str| -> Result<(PathBuf, Process)> {
            let (found, log) = (workshop.path(name), workshop.path(&format!("{name}.log")));
            let mut command = cores.command("chrt".as_ref());
            command.args(["--fifo", "20"]).arg(&program).args(["--host-network", "look-out"]);
            let process = Process::start("a lookout for stalls", &mut command, Some(&found), &log)?;
            let until = Instant::now() + Duration::from_secs(5);
            while !std::fs::read_to_string(&found).is_ok_and(|said| said.starts_with(READY)) {
                if Instant::now() > until {
                    let said = std::fs::read_to_string(&log).unwrap_or_default();
                    return Err(Error::new(format!("a lookout for stalls does not begin: {}", said.trim())));
                }
                std::thread::sleep(Duration::from_millis(2));
            }
            Ok((found, process))
        };
        let (balancer, load) = (post(Cores::Balancer, "stalls-0")?, post(Cores::Load, "stalls-1")?);
        Ok(Self { found: [balancer.0, load.0], _processes: [balancer.1, load.1] })
    }

    /// Returns the stalls found so far.
    ///
    /// # Errors
    /// If the programs' output cannot be read.
    pub(crate) fn stalls(&self) -> Result<Stalls> {
        // The last line may not have reached the file yet.
        std::thread::sleep(Duration::from_millis(20));
        let mut all = Vec::new();
        for path in &self.found {
            let said = std::fs::read_to_string(path).context(path.display())?;
            for line in said.lines().filter(|line| *line != READY) {
                let (due, woke) = line.split_once(' ').ok_or_else(|| Error::new("a stall without an end"))?;
                all.push(due.parse().context("when it was to wake")?..woke.parse().context("when it woke")?);
            }
        }
        Ok(Stalls::new(all))
    }
}

/// Detects stalls on this core. Prints a line for each, forever: the time at which it should have woken, and
/// the time at which it did.
///
/// # Errors
/// If the output cannot be written, or the clock fails.
pub(crate) fn look_out() -> Result<()> {
    use std::io::Write;
    // No other process ends this one.
    set_parent_process_death_signal(Some(Signal::KILL)).context("asking to end with whoever started it")?;
    let mut out = std::io::stdout().lock();
    writeln!(out, "{READY}").context("stdout")?;
    let period = LOOK.as_nanos() as u64;
    let mut due = now_ns() + period;
    loop {
        let at = Timespec {
            tv_sec: (due / 1_000_000_000).cast_signed(),
            tv_nsec: (due % 1_000_000_000).cast_signed(),
        };
        clock_nanosleep_absolute(ClockId::Monotonic, &at).context("sleeping")?;
        let woke = now_ns();
        if woke - due > STALL.as_nanos() as u64 {
            writeln!(out, "{due} {woke}").context("stdout")?;
        }
        due = (due + period).max(woke);
    }
}

/// Time ranges whose measurements are invalid, in nanoseconds of CLOCK_MONOTONIC, ascending and disjoint.
#[derive(Debug, Default)]
pub(crate) struct Stalls(Vec<Range<u64>>);

impl Stalls {
    /// Extends each oversleep to the range that it affects. Requests that were due up to 5 ms before may have
    /// been in progress. The range also lasts as long again after the oversleep: at half of the peak load,
    /// working off the backlog takes that time.
    ///
    /// The extension does not depend on the requests' own duration. Otherwise mostly slow requests would be
    /// left out.
    pub(crate) fn new(overslept: Vec<Range<u64>>) -> Self {
        const UNDER_WAY_NS: u64 = 5_000_000;
        let around = |it: Range<u64>| it.start.saturating_sub(UNDER_WAY_NS)..it.end + (it.end - it.start);
        let mut all: Vec<_> = overslept.into_iter().map(around).collect();
        all.sort_by_key(|it| it.start);
        let mut apart: Vec<Range<u64>> = Vec::with_capacity(all.len());
        for stall in all {
            match apart.last_mut() {
                Some(last) if stall.start <= last.end => last.end = last.end.max(stall.end),
                _ => apart.push(stall),
            }
        }
        Self(apart)
    }

    /// Returns whether a request with this due time is left out.
    pub(crate) fn spoil(&self, due: u64) -> bool {
        let next = self.0.partition_point(|stall| stall.end < due);
        self.0.get(next).is_some_and(|stall| stall.start <= due)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stall_spoils_what_was_due_5_ms_before_and_until_as_long_again_as_it_lasted() {
        let ms = |from: u64, to: u64| from * 1_000_000..to * 1_000_000;
        let stalls = Stalls::new(vec![ms(100, 103), ms(20, 21), ms(107, 108)]);
        assert_eq!(stalls.0, [ms(15, 22), ms(95, 109)]);
        for (due, spoilt) in [
            (0, false),
            (14, false),
            (15, true),
            (22, true),
            (23, false),
            (95, true),
            (109, true),
            (110, false),
        ] {
            assert_eq!(stalls.spoil(due * 1_000_000), spoilt, "{due} ms");
        }
    }
}
