//! The requests that a thread must start, with their due times.

use std::iter::Peekable;

use crate::facts::Mode;
use crate::load::Load;
use crate::schedule::Schedule;

/// Consecutive requests on one connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Job {
    /// Due time of the next request.
    pub(super) due_ns: u64,
    /// Number of the next request in the run.
    pub(super) number: u64,
    /// Target of the request, if a log determines it.
    pub(super) target: Option<u32>,
    /// Remaining requests of a session that uses its own connection, including this one. 0 = the request can
    /// use any connection.
    pub(super) calls: u32,
    /// Set when all connections were in use at the due time.
    pub(super) starved: bool,
}

/// Jobs in the order of their due times. Empty in a closed loop, where an idle user starts at once.
pub(super) type Jobs<'l> = Peekable<Box<dyn Iterator<Item = Job> + 'l>>;

/// Returns the jobs of thread `thread` of `threads`. Each thread takes every `threads`-th job, so the load is
/// the same for any number of threads.
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
