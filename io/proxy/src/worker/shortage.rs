//! Descriptors run out: idle connections to servers are given up for those that are needed now, the ones first that nobody has used for longest.

use std::io;
use std::os::fd::{AsFd, AsRawFd};
use std::time::{Duration, Instant};

use rustix::io::Errno;
use weir_net::Socket;

use super::Worker;
use super::tally::{count_what_was_noted, idle_here};
use crate::report;

/// At a time this part of them is closed: to find the oldest, all have to be looked at.
const CLOSED_SHARE: usize = 16;
/// And no more than this: to close one takes some microseconds, in which everybody else waits.
const CLOSED_MAX: usize = 64;
/// Other workers are asked this often by one that has got what it needed.
const ASKED_EVERY: Duration = Duration::from_millis(10);

/// Whether the kernel says that descriptors or memory have run out here.
pub(crate) fn is_shortage(error: &io::Error) -> bool {
    matches!(Errno::from_io_error(error), Some(Errno::MFILE | Errno::NFILE | Errno::NOBUFS | Errno::NOMEM))
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
        // The last one stays: a client that comes in by it would find no connection to a server.
        let closed = self.close_idle(2);
        let now = self.now();
        let is_time = self.others_asked.get().is_none_or(|last| now.duration_since(last) >= ASKED_EVERY);
        if closed == 0 && is_time {
            self.others_asked.set(Some(now));
            self.shared.descriptors.ask_others(self.thread);
        }
    }

    /// No descriptor was left for a connection to a server: makes room for one. Whether there is some now.
    #[cold]
    pub(crate) async fn make_room(&self) -> bool {
        self.close_idle(1) > 0 || self.shared.descriptors.get_from_others(self.thread).await
    }

    /// No descriptor was left for a client: makes room for it and its connection to a server. Whether there is some now.
    #[cold]
    pub(crate) async fn make_room_for_client(&self) -> bool {
        self.close_idle(2) > 0 || self.shared.descriptors.get_from_others(self.thread).await
    }

    /// Another worker needs descriptors.
    pub(crate) fn give_up_some(&self) {
        self.close_idle(2);
    }

    /// Closes the idle connections to servers that were used longest ago: at least `least`, or none if there are fewer. How many. Pipes that
    /// are not in use are closed, too.
    fn close_idle(&self, least: usize) -> usize {
        let pipes = self.pipes.close_free();
        // What is taken out of a gauge must be in it.
        count_what_was_noted();
        let closed = if idle_here() < least { 0 } else { self.close_oldest(least) };
        if closed > 0 {
            self.shared.descriptors.closed(closed);
            report::throttled(|| {
                let limit = self.shared.descriptors.limit();
                format!(
                    "few of {limit} descriptors are left: idle connections to servers are closed; raise the limit of open files"
                )
            });
        }
        closed + pipes
    }

    fn close_oldest(&self, least: usize) -> usize {
        let all = self.all_live();
        let views: Vec<_> = all.iter().flat_map(|live| live.pools()).map(|pool| pool.view()).collect();
        let servers = || views.iter().flat_map(|view| view.servers());
        let mut since: Vec<Instant> = Vec::new();
        servers().for_each(|server| server.tell_idle_since(&mut since));
        let count = (since.len() / CLOSED_SHARE).clamp(least, CLOSED_MAX);
        if since.len() < count {
            return 0;
        }
        let (_, last, _) = since.select_nth_unstable(count - 1);
        let last = *last;
        let mut left = count;
        for server in servers() {
            left -= server.close_idle_since(last, left);
        }
        count - left
    }
}
