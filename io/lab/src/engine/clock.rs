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

/// The time of the run, and waiting for a part of it.
///
/// The kernel wakes a thread later than it asked for: by some 50 us, and by a millisecond or more where a hypervisor has to
/// wake the processor first. So the last part before a request is due is spent awake. How long that part is follows from
/// how late it was woken lately.
#[derive(Debug)]
pub(super) struct Clock {
    start: Instant,
    /// Spent asleep.
    idle_ns: u64,
    /// Spent awake with nothing to do.
    spin_ns: u64,
    /// The last part before a request is due.
    margin_ns: u64,
    /// Slept for much longer than it wanted to.
    stalled_ns: u64,
    run_delay_ns: Option<u64>,
    cpu_ns: u64,
    interrupts_ns: u64,
}

const MARGIN_MIN_NS: u64 = 50_000;
const MARGIN_MAX_NS: u64 = 2_000_000;
/// A margin becomes shorter by one in so many with each time it was not needed.
const MARGIN_DECAY: u64 = 256;
/// And by one in so many of the time that is spent awake: where requests come sooner than the margin is long nobody sleeps, and one
/// oversleeping would keep the thread awake for ever. At any rate it is tried again every second or two at most.
const AWAKE_DECAY: u64 = 1024;
/// Who sleeps so much longer than he wants to has not been let.
const STALL_MIN_NS: u64 = 10_000_000;
/// How soon the end of a run is seen, and that the thread was not let run.
const TICK_NS: u64 = 20_000_000;

impl Clock {
    /// For this thread.
    pub(super) fn new(start: Instant) -> Self {
        // The kernel may wake a thread 50 us late, as a rule; without the permission the rule holds, and the margin knows.
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

    /// Since the start of the run.
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

    /// Waits for events: until `next`, exactly, or about until `latest`.
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
        // Whatever woke it: an event that came while it could not run finds it late, too.
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

    /// What it saw of this thread.
    pub(super) fn facts(&self, wall_ns: u64) -> ThreadFacts {
        let delay = self.run_delay_ns.zip(run_delay_ns()).map(|(before, after)| after.saturating_sub(before));
        let awake_ns = wall_ns.saturating_sub(self.idle_ns);
        // Packets are taken in by interrupts, in the middle of whatever runs. A kernel may leave that out of the thread's time
        // (CONFIG_IRQ_TIME_ACCOUNTING), and does not say for whom it was: at most it was all of it.
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

/// Takes the events that are there, or waits for some, up to a millisecond longer than asked for: so epoll_wait(2) rounds.
fn wait_about(epoll: &OwnedFd, events: &mut Vec<epoll::Event>, wait_ns: u64) -> Result<(), Errno> {
    match epoll::wait(epoll, spare_capacity(events), Some(&timespec(wait_ns)?)) {
        // A signal: somebody looks at the program.
        Ok(_) | Err(Errno::INTR) => Ok(()),
        Err(error) => Err(error),
    }
}

/// Waits for events no longer than asked for, to the nanosecond. ppoll(2) can do that on every kernel, for one more system call;
/// epoll_pwait2(2) not before Linux 5.11.
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

/// CPU time of this thread so far.
fn thread_cpu_ns() -> u64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// How long this thread could have run and was not let: the second number of schedstat (Documentation/scheduler/sched-stats).
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
        // The machine may oversleep now and then, not always.
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
