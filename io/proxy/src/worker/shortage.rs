//! Handles a shortage of descriptors: closes the idle connections to servers that were unused for longest, to
//! free descriptors that are needed now.

use std::io;
use std::os::fd::{AsFd, AsRawFd};
use std::rc::Rc;
use std::time::{Duration, Instant};

use rustix::io::Errno;
use weir_net::Socket;

use super::Worker;
use super::tally::{count_what_was_noted, idle_here};
use crate::report::Seldom;

/// Share of the idle connections that is closed at a time, computed as if each server had one more. To find
/// the oldest ones, all servers must be visited, and the result must be worth that cost.
const CLOSED_SHARE: usize = 16;
/// Maximum number closed at a time: closing one takes some microseconds, during which all other tasks of the
/// worker wait.
const CLOSED_MAX: usize = 64;
/// Minimum time between two requests to other workers, if this worker needs no descriptor at the moment.
const ASKED_EVERY: Duration = Duration::from_millis(10);
/// Number of times that one connection may have others closed. If that does not help, idle connections are
/// not the cause.
const ROUNDS_MAX: usize = 4;

/// Rate limit of the warning to operators.
static TOLD: Seldom = Seldom::every(Duration::from_secs(60));

/// Returns true if the kernel reports a lack of descriptors or memory.
pub(crate) fn is_shortage(error: &io::Error) -> bool {
    matches!(Errno::from_io_error(error), Some(Errno::MFILE | Errno::NFILE | Errno::NOBUFS | Errno::NOMEM))
}

/// Returns true if the kernel reports a lack of descriptors.
fn is_of_descriptors(error: &io::Error) -> bool {
    matches!(Errno::from_io_error(error), Some(Errno::MFILE | Errno::NFILE))
}

/// Search for a descriptor for one connection to a server.
pub(crate) struct Room {
    worker: Rc<Worker>,
    patience: Duration,
    rounds: usize,
    has_waited: bool,
}

impl Room {
    /// Creates a search that may wait for other workers for `patience` in total.
    pub(crate) fn new(worker: Rc<Worker>, patience: Duration) -> Self {
        Self { worker, patience, rounds: 0, has_waited: false }
    }

    /// Tries to free a descriptor after the connection could not be opened because of `why`. Returns true if
    /// another try makes sense.
    #[cold]
    pub(crate) async fn make(&mut self, why: &io::Error) -> bool {
        if !is_of_descriptors(why) || self.has_waited || self.rounds == ROUNDS_MAX {
            return false;
        }
        self.rounds += 1;
        if self.worker.close_idle(1) > 0 {
            return true;
        }
        let descriptors = &self.worker.shared.descriptors;
        if descriptors.workers() < 2 {
            return false;
        }
        // Even if no worker closed a connection, a descriptor may have become free meanwhile.
        self.has_waited = true;
        descriptors.get_from_others(self.worker.thread, self.patience).await;
        true
    }
}

impl Worker {
    /// Checks the descriptor number of a newly opened socket. If few descriptors are left, closes idle
    /// connections for the next sockets.
    pub(crate) fn opened(&self, socket: &Socket) {
        let number = u64::try_from(socket.as_fd().as_raw_fd()).unwrap_or(0);
        if self.shared.descriptors.are_few(number) {
            self.keep_some_free();
        }
    }

    #[cold]
    fn keep_some_free(&self) {
        // A single idle connection stays: a client accepted in its place would find no connection to a
        // server.
        let closed = self.close_idle(2);
        let now = self.now();
        let is_time = self.others_asked.get().is_none_or(|last| now.duration_since(last) >= ASKED_EVERY);
        if closed == 0 && is_time {
            self.others_asked.set(Some(now));
            self.shared.descriptors.ask_others(self.thread);
        }
    }

    /// Frees descriptors for a client that could not be accepted because of `why`, and for its connection to
    /// a server. Returns true if it succeeded.
    #[cold]
    pub(crate) fn make_room_for_client(&self, why: &io::Error) -> bool {
        is_of_descriptors(why) && self.close_idle(2) > 0
    }

    /// Waits for `patience` because this worker could free nothing. If descriptors are short, returns early
    /// when another worker has closed something.
    #[cold]
    pub(crate) async fn wait_for_room(&self, why: &io::Error, patience: Duration) {
        if is_of_descriptors(why) {
            self.shared.descriptors.get_from_others(self.thread, patience).await;
        } else {
            tokio::time::sleep(patience).await;
        }
    }

    /// Closes idle connections because another worker needs descriptors.
    pub(crate) fn give_up_some(&self) {
        self.close_idle(2);
    }

    /// Closes the idle connections to servers that were unused for longest, `least` or more. If there are
    /// fewer, closes free pipes instead. Returns the number closed.
    fn close_idle(&self, least: usize) -> usize {
        // Notes must be counted first: a gauge must include a connection before its removal is subtracted.
        count_what_was_noted();
        let connections = if idle_here() < least { 0 } else { self.close_oldest(least) };
        let closed = if connections > 0 { connections } else { self.pipes.close_free() };
        if closed > 0 {
            self.shared.descriptors.closed(connections);
        }
        if connections > 0 {
            TOLD.line(|| {
                let limit = self.shared.descriptors.limit();
                format!(
                    "few descriptors are left (limit {limit}): idle connections to servers are closed; raise the limit of open files"
                )
            });
        }
        closed
    }

    fn close_oldest(&self, least: usize) -> usize {
        let all = self.all_live();
        let mut pools: Vec<_> = all.iter().flat_map(|live| live.pools()).collect();
        // Older plans share pools with the plan in force.
        pools.sort_by_key(|pool| Rc::as_ptr(pool));
        pools.dedup_by(|one, other| Rc::ptr_eq(one, other));
        let views: Vec<_> = pools.iter().map(|pool| pool.view()).collect();
        let servers = || views.iter().flat_map(|view| view.servers());
        let mut since: Vec<Instant> = Vec::new();
        let mut looked_at = 0;
        for server in servers() {
            server.tell_idle_since(&mut since);
            looked_at += 1;
        }
        if since.is_empty() || since.len() < least {
            return 0;
        }
        let count = batch(since.len(), looked_at, least);
        let (_, last, _) = since.select_nth_unstable(count - 1);
        let last = *last;
        let mut left = count;
        for server in servers() {
            left -= server.close_idle_since(last, left);
            if left == 0 {
                break;
            }
        }
        count - left
    }
}

/// Returns how many of `idle` connections to `servers` servers are closed at a time.
fn batch(idle: usize, servers: usize, least: usize) -> usize {
    ((idle + servers) / CLOSED_SHARE).clamp(least, CLOSED_MAX).min(idle)
}

#[cfg(test)]
mod tests;
