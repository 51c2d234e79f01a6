//! Descriptors run out: idle connections to servers are given up for those that are needed now, the ones first that nobody has used for longest.

use std::io;
use std::os::fd::{AsFd, AsRawFd};
use std::rc::Rc;
use std::time::{Duration, Instant};

use rustix::io::Errno;
use weir_net::Socket;

use super::Worker;
use super::tally::{count_what_was_noted, idle_here};
use crate::report::Seldom;

/// At a time this part of them is closed, as if each server had one more: to find the oldest, all servers have to be looked at, and what
/// that costs is to be worth it.
const CLOSED_SHARE: usize = 16;
/// And no more than this: to close one takes some microseconds, in which everybody else waits.
const CLOSED_MAX: usize = 64;
/// Other workers are asked this often by one that has got what it needed.
const ASKED_EVERY: Duration = Duration::from_millis(10);
/// So often one connection has others closed for itself: what does not help by then is no matter of idle connections.
const ROUNDS_MAX: usize = 4;

/// Operators are told of it this often.
static TOLD: Seldom = Seldom::every(Duration::from_secs(60));

/// Whether the kernel says that descriptors or memory have run out here.
pub(crate) fn is_shortage(error: &io::Error) -> bool {
    matches!(Errno::from_io_error(error), Some(Errno::MFILE | Errno::NFILE | Errno::NOBUFS | Errno::NOMEM))
}

/// Whether descriptors have.
fn is_of_descriptors(error: &io::Error) -> bool {
    matches!(Errno::from_io_error(error), Some(Errno::MFILE | Errno::NFILE))
}

/// Room that is made for one connection to a server.
pub(crate) struct Room {
    worker: Rc<Worker>,
    patience: Duration,
    rounds: usize,
    has_waited: bool,
}

impl Room {
    /// It may wait for so long for what other workers close, in all.
    pub(crate) fn new(worker: Rc<Worker>, patience: Duration) -> Self {
        Self { worker, patience, rounds: 0, has_waited: false }
    }

    /// The connection could not be opened for this reason. Whether it is worth another try.
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
        // Found or not: meanwhile one may have become free.
        self.has_waited = true;
        descriptors.get_from_others(self.worker.thread, self.patience).await;
        true
    }
}

impl Worker {
    /// `socket` has just been opened. If few descriptors are left, room is made for those who will need one next.
    pub(crate) fn opened(&self, socket: &Socket) {
        let number = u64::try_from(socket.as_fd().as_raw_fd()).unwrap_or(0);
        if self.shared.descriptors.are_few(number) {
            self.keep_some_free();
        }
    }

    #[cold]
    fn keep_some_free(&self) {
        // One alone stays: the client that would come in instead would find no connection to a server.
        let closed = self.close_idle(2);
        let now = self.now();
        let is_time = self.others_asked.get().is_none_or(|last| now.duration_since(last) >= ASKED_EVERY);
        if closed == 0 && is_time {
            self.others_asked.set(Some(now));
            self.shared.descriptors.ask_others(self.thread);
        }
    }

    /// A client could not be accepted for this reason: makes room for it and its connection to a server. Whether it has.
    #[cold]
    pub(crate) fn make_room_for_client(&self, why: &io::Error) -> bool {
        is_of_descriptors(why) && self.close_idle(2) > 0
    }

    /// Nothing could be done here: waits so long, or until another worker has closed something where that helps.
    #[cold]
    pub(crate) async fn wait_for_room(&self, why: &io::Error, patience: Duration) {
        if is_of_descriptors(why) {
            self.shared.descriptors.get_from_others(self.thread, patience).await;
        } else {
            tokio::time::sleep(patience).await;
        }
    }

    /// Another worker needs descriptors.
    pub(crate) fn give_up_some(&self) {
        self.close_idle(2);
    }

    /// Closes the idle connections to servers that were used longest ago: at least `least`. If there are fewer, pipes that are not in use
    /// instead. How many.
    fn close_idle(&self, least: usize) -> usize {
        // What is taken out of a gauge must be in it.
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
        // Plans that are no longer in force have pools in common with the one that is.
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

/// How many of so many idle connections to so many servers are closed at a time.
fn batch(idle: usize, servers: usize, least: usize) -> usize {
    ((idle + servers) / CLOSED_SHARE).clamp(least, CLOSED_MAX).min(idle)
}

#[cfg(test)]
mod tests;
