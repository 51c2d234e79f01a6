//! A server as one worker sees it, with the worker's idle connections to it.

use std::cell::{Cell, RefCell};
use std::net::SocketAddr;
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

use weir_balance::ServerLoad;
use weir_config::plan::ConnectionReuse;
use weir_net::Stream;

use super::habit::Habit;
use super::kept::Kept;
use super::tally::{Done, Tally};
use crate::state::{ServerCounters, ServerState, Shards, Whereabouts};

/// A server as one worker sees it: the shared state, and this worker's idle connections to it.
///
/// The fields that each request needs come first, copied from the shared state where necessary. With
/// thousands of servers neither is in the CPU cache, and each cache line costs a memory access.
#[repr(C)]
pub(crate) struct LocalServer {
    /// Slot of the server in the pool's rosters.
    pub(crate) slot: usize,
    /// Requests in flight.
    pub(crate) load: Arc<ServerLoad>,
    counters: Shards<ServerCounters>,
    thread: usize,
    pub(crate) shared: Arc<ServerState>,
    tally: Rc<Tally>,
    idle: RefCell<Kept<IdleConnection>>,
    direct: Cell<Option<Direct>>,
}

/// A connection to a server.
pub(crate) struct ServerConnection {
    pub(crate) stream: Stream,
    /// Requests sent over it so far.
    pub(crate) requests: u32,
    /// Statistics about its recent responses.
    habit: Habit,
    born: Instant,
    whereabouts: Whereabouts,
}

/// Cached address of a server that has only this address and no TLS, valid while the server has not moved.
#[derive(Debug, Clone, Copy)]
struct Direct {
    whereabouts: Whereabouts,
    address: SocketAddr,
}

struct IdleConnection {
    connection: ServerConnection,
    since: Instant,
}

impl LocalServer {
    pub(crate) fn new(shared: Arc<ServerState>, thread: usize) -> Self {
        Self {
            slot: shared.slot,
            load: Arc::clone(&shared.load),
            counters: shared.counters.clone(),
            thread,
            shared,
            tally: Tally::of_this_thread(),
            idle: RefCell::default(),
            direct: Cell::new(None),
        }
    }

    /// Returns this worker's counters for the server. Events that every request counts go through
    /// [`LocalServer::note`] instead.
    pub(crate) fn counters(&self) -> &ServerCounters {
        self.counters.of(self.thread)
    }

    /// Reads the memory that a request needs first, so that all cache lines are fetched in parallel.
    /// Otherwise each line would wait for the one before, because the active requests are counted by a locked
    /// instruction, which later loads cannot overtake.
    pub(crate) fn look(&self) -> u64 {
        let idle = self.idle.borrow();
        let has_input = idle.last().is_some_and(|one| one.connection.stream.has_pending_input());
        let counted = u64::from(self.load.active()).wrapping_add(self.counters().requests.get());
        counted.wrapping_add(has_input.into())
    }

    /// Notes an event, which is counted before this thread waits for events.
    pub(crate) fn note(self: &Rc<Self>, done: Done) {
        self.tally.note(self, done);
    }

    /// Returns the cached address and its version, if the server had only this address, without TLS, and has
    /// not moved since.
    ///
    /// It is cached here because with thousands of servers the shared address is not in the CPU cache, and
    /// each cache line on the way to it would cost a memory access.
    pub(crate) fn direct_address(&self) -> Option<(SocketAddr, Whereabouts)> {
        let Direct { mut whereabouts, address } = self.direct.get()?;
        let before = whereabouts;
        let known = self.shared.is_still_at(&mut whereabouts).then_some(Direct { whereabouts, address });
        if known.is_none() || whereabouts != before {
            self.direct.set(known);
        }
        known.map(|known| (known.address, known.whereabouts))
    }

    /// Caches the server's only address, which has no TLS. `whereabouts` must have been read before the
    /// address and the TLS settings.
    pub(crate) fn note_direct_address(&self, whereabouts: Whereabouts, address: SocketAddr) {
        self.direct.set(Some(Direct { whereabouts, address }));
    }

    /// Takes the most recently used idle connection that is still usable; the others may then time out. With
    /// `sure`, also asks the kernel if the server has closed it meanwhile. A request that must not be sent
    /// twice would be lost if its connection was closed for idleness.
    pub(crate) fn take_idle(
        self: &Rc<Self>,
        rules: &ConnectionReuse,
        now: Instant,
        sure: bool,
    ) -> Option<ServerConnection> {
        let mut idle = self.idle.borrow_mut();
        if idle.len() == 0 {
            return None;
        }
        let before = idle.len();
        let is_of_use = |candidate: &mut IdleConnection| {
            let is_good = candidate.is_good(rules, now, &self.shared);
            is_good && !(sure && candidate.connection.stream.socket().has_input_now())
        };
        let good = std::iter::from_fn(|| idle.pop()).find_map(|mut one| is_of_use(&mut one).then_some(one));
        let taken = (before - idle.len()) as u32;
        self.note(Done::TakenIdle { taken, reused: good.is_some() });
        good.map(|candidate| candidate.connection)
    }

    /// Keeps a connection for the next request, if the rules permit.
    pub(crate) fn keep_idle(
        self: &Rc<Self>,
        mut connection: ServerConnection,
        rules: &ConnectionReuse,
        now: Instant,
    ) {
        let mut idle = self.idle.borrow_mut();
        let fresh = self.shared.is_still_at(&mut connection.whereabouts);
        let used_up = rules.requests_max.is_some_and(|max| connection.requests >= max);
        if fresh && !used_up && idle.len() < rules.idle_max as usize {
            idle.push(IdleConnection { connection, since: now });
            self.note(Done::KeptIdle);
        }
    }

    /// Closes idle connections that are no longer usable. It is called periodically, so that a server's own
    /// idle timeout does not leave half-closed connections here.
    pub(crate) fn sweep(&self, rules: &ConnectionReuse, now: Instant) {
        let mut idle = self.idle.borrow_mut();
        let before = idle.len();
        if before == 0 {
            return;
        }
        idle.retain(|candidate| candidate.is_good(rules, now, &self.shared));
        self.fewer_idle(before - idle.len());
    }

    /// Adds the start of the idle time of each idle connection to `since`.
    pub(super) fn tell_idle_since(&self, since: &mut Vec<Instant>) {
        since.extend(self.idle.borrow().iter().map(|one| one.since));
    }

    /// Closes at most `most` idle connections that were last used at `last` or before. Returns their number.
    pub(super) fn close_idle_since(&self, last: Instant, most: usize) -> usize {
        let mut idle = self.idle.borrow_mut();
        let before = idle.len();
        if before == 0 {
            return 0;
        }
        let mut left = most;
        idle.retain(|one| {
            let goes = left > 0 && one.since <= last;
            left -= usize::from(goes);
            !goes
        });
        let closed = before - idle.len();
        self.fewer_idle(closed);
        closed
    }

    pub(super) fn one_more_idle(&self) {
        self.counters().idle.one();
        self.tally.one_more_idle();
    }

    /// Counts idle connections that were taken out, to be used or to be closed.
    pub(super) fn fewer_idle(&self, count: usize) {
        self.counters().idle.subtract(count as u64);
        self.tally.fewer_idle(count);
    }

    /// Closes all idle connections.
    pub(crate) fn close_idle(&self) {
        let closed = std::mem::take(&mut *self.idle.borrow_mut());
        self.fewer_idle(closed.len());
    }
}

impl Drop for LocalServer {
    fn drop(&mut self) {
        self.close_idle();
    }
}

impl ServerConnection {
    pub(crate) fn new(stream: Stream, whereabouts: Whereabouts) -> Self {
        Self { stream, requests: 0, habit: Habit::default(), born: Instant::now(), whereabouts }
    }

    /// Records a complete response: the size of its head, and whether most of its body was spliced.
    pub(crate) fn saw(&mut self, head_bytes: u32, spliced: bool) {
        let expected = self.first_read_bytes().is_some();
        self.habit.saw(head_bytes, spliced);
        if !expected && self.first_read_bytes().is_some() {
            self.stream.socket().count_input();
        }
    }

    /// Returns how much of the next response to read first, if its body is likely to be long.
    pub(crate) fn first_read_bytes(&self) -> Option<usize> {
        self.habit.first_read_bytes()
    }
}

impl IdleConnection {
    fn is_good(&mut self, rules: &ConnectionReuse, now: Instant, server: &ServerState) -> bool {
        // Comparing a sum is faster than comparing a difference. A sum that overflows lies too far in the
        // future to matter.
        let is_within = |since: Instant, max: Duration| since.checked_add(max).is_none_or(|end| now < end);
        server.is_still_at(&mut self.connection.whereabouts)
            && is_within(self.since, rules.idle_timeout.duration())
            && is_within(self.connection.born, rules.age_max.duration())
            && !self.connection.stream.has_pending_input()
    }
}

#[cfg(test)]
mod tests {
    use weir_model::ServerName;

    use super::*;
    use crate::state::Endpoint;

    fn move_another() {
        let name = ServerName::new("b").unwrap();
        let other = ServerState::new(2, name, String::new(), 1, Endpoint::Unresolved, 1);
        other.move_to(Endpoint::Unresolved);
    }

    #[test]
    fn a_server_that_has_moved_or_speaks_otherwise_is_not_connected_to_as_it_was() {
        let address: SocketAddr = "127.0.0.1:81".parse().unwrap();
        let name = ServerName::new("a").unwrap();
        let endpoint = Endpoint::Inet(vec![address]);
        let state = Arc::new(ServerState::new(1, name, address.to_string(), 0, endpoint, 1));
        let server = LocalServer::new(Arc::clone(&state), 0);
        let known = || server.direct_address().map(|(address, _)| address);
        assert_eq!(known(), None);
        server.note_direct_address(state.whereabouts(), address);
        assert_eq!(known(), Some(address));
        move_another();
        assert_eq!(known(), Some(address), "others may move");
        state.move_to(Endpoint::Unresolved);
        assert_eq!(known(), None);
        server.note_direct_address(state.whereabouts(), address);
        state.set_connector(None);
        assert_eq!(known(), None);
    }

    #[test]
    fn what_was_read_before_a_server_moved_is_not_taken_for_what_it_is_after() {
        let (old, new): (SocketAddr, SocketAddr) =
            ("127.0.0.1:81".parse().unwrap(), "127.0.0.1:82".parse().unwrap());
        let name = ServerName::new("a").unwrap();
        let endpoint = Endpoint::Inet(vec![old]);
        let state = Arc::new(ServerState::new(1, name, old.to_string(), 0, endpoint, 1));
        let server = LocalServer::new(Arc::clone(&state), 0);
        let whereabouts = state.whereabouts();
        state.move_to(Endpoint::Inet(vec![new]));
        server.note_direct_address(whereabouts, old);
        assert!(server.direct_address().is_none());
    }

    #[test]
    fn what_each_request_needs_of_a_server_is_on_one_cache_line_with_what_counts_who_holds_it() {
        const LINE: usize = 64;
        let counts = 2 * size_of::<usize>();
        assert!(counts + std::mem::offset_of!(LocalServer, tally) <= LINE);
    }
}
