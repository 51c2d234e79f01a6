//! What a thread has to start next, and when.

use std::iter::Peekable;

use crate::facts::Mode;
use crate::load::Load;
use crate::schedule::Schedule;

/// Requests that follow each other on one connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Job {
    /// When the next one is due.
    pub(super) due_ns: u64,
    /// Its number in the run.
    pub(super) number: u64,
    /// Its target, if a log says so.
    pub(super) target: Option<u32>,
    /// A connection of its own carries it and those that follow: so many, it included. 0 = any connection does.
    pub(super) calls: u32,
    /// All connections were in use when it was due.
    pub(super) starved: bool,
}

/// Jobs in the order in which they are due. Of a closed loop there are none: who has nothing under way starts at once.
pub(super) type Jobs<'l> = Peekable<Box<dyn Iterator<Item = Job> + 'l>>;

/// Those of thread `thread` of `threads`: every so-many-th, so that the whole is the same with any number of threads.
pub(super) fn jobs(load: &Load, thread: usize, threads: usize) -> Jobs<'_> {
    let max = usize::try_from(load.requests_max.unwrap_or(u64::MAX)).unwrap_or(usize::MAX);
    let job = |due_ns, number, target, calls| Job { due_ns, number, target, calls, starved: false };
    let all: Box<dyn Iterator<Item = Job>> = match &load.mode {
        Mode::Closed { .. } => Box::new(std::iter::empty()),
        Mode::Replay { .. } => {
            let log = load.log.iter().take(max).enumerate();
            Box::new(log.map(move |(at, (due_ns, target))| job(*due_ns, at as u64, Some(*target), 0)))
        }
        Mode::Open { phases, arrivals } => {
            let times = Schedule::new(phases, *arrivals).take(max).enumerate();
            Box::new(times.map(move |(at, due_ns)| job(due_ns, at as u64, None, 0)))
        }
        Mode::Sessions { phases, arrivals, calls, .. } => {
            let calls = (*calls).max(1);
            let times = Schedule::new(phases, *arrivals).take(max).enumerate();
            Box::new(times.map(move |(at, due_ns)| job(due_ns, at as u64 * u64::from(calls), None, calls)))
        }
    };
    let mine: Box<dyn Iterator<Item = Job>> = Box::new(all.skip(thread).step_by(threads.max(1)));
    mine.peekable()
}
