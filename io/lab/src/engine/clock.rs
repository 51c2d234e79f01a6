//! Clock of a thread, which waits until requests are due.

use std::fs;
use std::num::NonZeroU64;
use std::os::fd::OwnedFd;
use std::thread;
use std::time::{Duration, Instant};

use rustix::buffer::spare_capacity;
use rustix::event::{self, PollFd, PollFlags, Timespec, epoll};
use rustix::io::Errno;
use rustix::time::{ClockId, clock_gettime};

use super::process::interrupts_ns;
use crate::facts::ThreadFacts;

/// Clock of the run that waits until requests are due.
///
/// The kernel wakes a thread later than requested: by about 50 us, or by a millisecond and more if a
/// hypervisor must wake the processor first. Therefore the thread is awake during the last part before a
/// request is due (the margin). Recent wake-up delays determine the length of this margin.
#[derive(Debug)]
pub(super) struct Clock {
    start: Instant,
    /// Time asleep.
    idle_ns: u64,
    /// Time awake with nothing to do.
    spin_ns: u64,
    /// Time before a request is due in which the thread stays awake.
    margin_ns: u64,
    /// Time overslept, if much longer than the kernel's usual delay.
    stalled_ns: u64,
    run_delay_ns: Option<u64>,
    cpu_ns: u64,
    interrupts_ns: u64,
}

const MARGIN_MIN_NS: u64 = 50_000;
const MARGIN_MAX_NS: u64 = 2_000_000;
/// Divisor of the decay of the margin: each wake-up that did not need the margin shortens it by 1/256.
const MARGIN_DECAY: u64 = 256;
/// Divisor of the decay while the thread is awake: the margin shrinks by 1/1024 of that time. If requests
/// come sooner than the margin is long, the thread never sleeps, and one oversleep would keep it awake
/// forever. With this decay, it tries to sleep again after one or two seconds at most.
const AWAKE_DECAY: u64 = 1024;
/// Minimum oversleep that counts as a stall: the thread was kept from running.
const STALL_MIN_NS: u64 = 10_000_000;
/// Interval at which the thread checks for the end of the run and for a stall.
const TICK_NS: u64 = 20_000_000;

impl Clock {
    /// Creates the clock of this thread.
    pub(super) fn new(start: Instant) -> Self {
        // The kernel may wake a thread 50 us late by default. If the kernel refuses this setting, the default
        // remains, and the margin adapts to it.
        let _ = rustix::thread::set_current_timer_slack(NonZeroU64::new(1));
        Self {
            start,
            idle_ns: 0,
            spin_ns: 0,
            margin_ns: 200_000,
            stalled_ns: 0,
            run_delay_ns: run_delay_ns(),
            cpu_ns: thread_cpu_ns(),
            interrupts_ns: interrupts_ns(),
        }
    }

    /// Returns the time since the start of the run.
    pub(super) fn now(&self) -> u64 {
        u64::try_from(self.start.elapsed().as_nanos()).unwrap_or(u64::MAX)
    }

    pub(super) fn wait_for_start(&self) {
        while let Some(left) =
            self.start.checked_duration_since(Instant::now()).filter(|left| !left.is_zero())
        {
            thread::sleep(left);
        }
    }

    /// Waits for events: exactly until `next`, or approximately until `latest`.
    pub(super) fn wait(
        &mut self,
        epoll: &OwnedFd,
        events: &mut Vec<epoll::Event>,
        next: Option<u64>,
        latest: Option<u64>,
    ) -> Result<(), Errno> {
        let now = self.now();
        let until = latest.unwrap_or(u64::MAX).min(now + TICK_NS);
        match next.filter(|next| *next <= until.saturating_add(MARGIN_MAX_NS)) {
            Some(next) if next <= now => wait_about(epoll, events, 0),
            Some(next) => {
                if next - now > self.margin_ns {
                    self.sleep(wait_exactly, epoll, events, now, next - self.margin_ns)?;
                }
                if events.is_empty() { self.spin(epoll, events, next) } else { Ok(()) }
            }
            None => self.sleep(wait_about, epoll, events, now, until.max(now)),
        }
    }

    fn sleep(
        &mut self,
        wait: fn(&OwnedFd, &mut Vec<epoll::Event>, u64) -> Result<(), Errno>,
        epoll: &OwnedFd,
        events: &mut Vec<epoll::Event>,
        now: u64,
        until: u64,
    ) -> Result<(), Errno> {
        wait(epoll, events, until - now)?;
        let woken = self.now();
        self.idle_ns += woken - now;
        // Counts for every kind of wake-up, because an event that came during a stall is handled late, too.
        let overslept = woken.saturating_sub(until);
        if overslept > STALL_MIN_NS {
            self.stalled_ns += overslept;
        }
        if events.is_empty() {
            if overslept > self.margin_ns {
                self.margin_ns = (overslept + overslept / 4).min(MARGIN_MAX_NS);
            } else {
                self.shorten_margin(self.margin_ns / MARGIN_DECAY);
            }
        }
        Ok(())
    }

    fn shorten_margin(&mut self, by_ns: u64) {
        self.margin_ns = self.margin_ns.saturating_sub(by_ns).max(MARGIN_MIN_NS);
    }

    fn spin(&mut self, epoll: &OwnedFd, events: &mut Vec<epoll::Event>, until: u64) -> Result<(), Errno> {
        let begun = self.now();
        let mut now = begun;
        while now < until && events.is_empty() {
            wait_about(epoll, events, 0)?;
            now = self.now();
        }
        self.spin_ns += now - begun;
        self.shorten_margin((now - begun) / AWAKE_DECAY);
        Ok(())
    }

    /// Returns the measurements of this thread.
    pub(super) fn facts(&self, wall_ns: u64) -> ThreadFacts {
        let delay = self.run_delay_ns.zip(run_delay_ns()).map(|(before, after)| after.saturating_sub(before));
        let awake_ns = wall_ns.saturating_sub(self.idle_ns);
        // Interrupts receive packets and run on top of any thread. Some kernels exclude that time from the
        // thread's CPU time (CONFIG_IRQ_TIME_ACCOUNTING) and do not say which thread was interrupted. At
        // most, it was this thread for all of it.
        let on_ns = thread_cpu_ns() - self.cpu_ns + interrupts_ns().saturating_sub(self.interrupts_ns);
        let off_ns = awake_ns.saturating_sub(on_ns);
        ThreadFacts {
            wall_ns,
            busy_ns: awake_ns.saturating_sub(self.spin_ns),
            spin_ns: self.spin_ns,
            run_delay_ns: delay,
            is_ahead: false,
            stalled_ns: self.stalled_ns + off_ns,
        }
    }
}

/// Takes pending events, or waits for events up to a millisecond longer than requested, because epoll_wait(2)
/// rounds up.
fn wait_about(epoll: &OwnedFd, events: &mut Vec<epoll::Event>, wait_ns: u64) -> Result<(), Errno> {
    match epoll::wait(epoll, spare_capacity(events), Some(&timespec(wait_ns)?)) {
        // A signal, for example from a debugger.
        Ok(_) | Err(Errno::INTR) => Ok(()),
        Err(error) => Err(error),
    }
}

/// Waits for events exactly as long as requested, to the nanosecond. ppoll(2) supports that on every kernel
/// at the cost of another system call. epoll_pwait2(2) requires Linux 5.11.
fn wait_exactly(epoll: &OwnedFd, events: &mut Vec<epoll::Event>, wait_ns: u64) -> Result<(), Errno> {
    match event::poll(&mut [PollFd::new(epoll, PollFlags::IN)], Some(&timespec(wait_ns)?)) {
        Ok(0) | Err(Errno::INTR) => Ok(()),
        Ok(_) => wait_about(epoll, events, 0),
        Err(error) => Err(error),
    }
}

fn timespec(ns: u64) -> Result<Timespec, Errno> {
    Timespec::try_from(Duration::from_nanos(ns)).map_err(|_| Errno::INVAL)
}

/// Returns the CPU time of this thread so far.
fn thread_cpu_ns() -> u64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// Returns the time in which this thread was runnable but not running: the second number of schedstat
/// (Documentation/scheduler/sched-stats).
fn run_delay_ns() -> Option<u64> {
    fs::read_to_string("/proc/thread-self/schedstat").ok()?.split_ascii_whitespace().nth(1)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_waits_for_less_than_a_millisecond_does_not_sleep_for_one() {
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC).unwrap();
        let mut clock = Clock::new(Instant::now());
        let mut slept = || {
            let (mut events, now, idle) = (Vec::with_capacity(1), clock.now(), clock.idle_ns);
            clock.margin_ns = MARGIN_MIN_NS;
            clock.wait(&epoll, &mut events, Some(now + 200_000), None).unwrap();
            assert!(clock.now() >= now + 200_000, "it was woken early");
            clock.idle_ns - idle
        };
        // The machine may oversleep sometimes, but not always.
        let shortest = (0..100).map(|_| slept()).filter(|slept| *slept > 0).min();
        assert!(shortest.is_some_and(|shortest| shortest < 1_000_000), "{shortest:?} ns");
    }

    #[test]
    fn who_overslept_once_sleeps_again_between_requests_that_come_soon() {
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC).unwrap();
        let mut clock = Clock::new(Instant::now());
        clock.margin_ns = MARGIN_MAX_NS;
        let waits = (0..100_000).take_while(|_| {
            let (mut events, now) = (Vec::with_capacity(1), clock.now());
            clock.wait(&epoll, &mut events, Some(now + MARGIN_MAX_NS * 3 / 4), None).unwrap();
            clock.idle_ns == 0
        });
        assert!((10..1_000).contains(&waits.count()), "it slept at once, or never");
    }
}
