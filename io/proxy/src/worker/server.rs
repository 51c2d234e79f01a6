use std::cell::RefCell;
use std::sync::Arc;
use std::time::{Duration, Instant};

use weir_config::plan::ConnectionReuse;
use weir_net::Stream;

use super::habit::Habit;
use super::kept::Kept;
use crate::state::{ServerCounters, ServerState};

/// A server as one worker sees it: the shared state, and this worker's idle connections to it.
#[repr(C)]
pub(crate) struct LocalServer {
    pub(crate) shared: Arc<ServerState>,
    thread: usize,
    idle: RefCell<Kept<IdleConnection>>,
}

/// A connection to a server.
pub(crate) struct ServerConnection {
    pub(crate) stream: Stream,
    /// Requests sent over it so far.
    pub(crate) requests: u32,
    /// What its responses were like.
    habit: Habit,
    born: Instant,
    endpoint_version: u64,
}

struct IdleConnection {
    connection: ServerConnection,
    since: Instant,
}

impl LocalServer {
    pub(crate) fn new(shared: Arc<ServerState>, thread: usize) -> Self {
        Self { shared, thread, idle: RefCell::default() }
    }

    /// This worker's counters for it.
    pub(crate) fn counters(&self) -> &ServerCounters {
        self.shared.counters.of(self.thread)
    }

    /// An idle connection that is still good, the one used last: the others may then time out.
    /// With `sure`, the kernel is asked whether the server has ended it meanwhile: a request that must not be sent
    /// twice shall not be lost to a connection that was closed for idleness.
    pub(crate) fn take_idle(
        &self,
        rules: &ConnectionReuse,
        now: Instant,
        sure: bool,
    ) -> Option<ServerConnection> {
        let mut idle = self.idle.borrow_mut();
        if idle.len() == 0 {
            return None;
        }
        let version = self.shared.endpoint_version();
        while let Some(candidate) = idle.pop() {
            self.counters().idle.subtract(1);
            let ended = || sure && candidate.connection.stream.socket().has_input_now();
            if candidate.is_good(rules, now, version) && !ended() {
                return Some(candidate.connection);
            }
        }
        None
    }

    /// Keeps a connection for the next request, if the rules permit.
    pub(crate) fn keep_idle(&self, connection: ServerConnection, rules: &ConnectionReuse, now: Instant) {
        let mut idle = self.idle.borrow_mut();
        let fresh = connection.endpoint_version == self.shared.endpoint_version();
        let used_up = rules.requests_max.is_some_and(|max| connection.requests >= max);
        if fresh && !used_up && idle.len() < rules.idle_max as usize {
            idle.push(IdleConnection { connection, since: now });
            self.counters().idle.one();
        }
    }

    /// Closes idle connections that are no longer good. Called now and then, so that a server's own idle timeout does
    /// not leave half-closed connections here.
    pub(crate) fn sweep(&self, rules: &ConnectionReuse, now: Instant) {
        let mut idle = self.idle.borrow_mut();
        let before = idle.len();
        if before == 0 {
            return;
        }
        let version = self.shared.endpoint_version();
        idle.retain(|candidate| candidate.is_good(rules, now, version));
        self.counters().idle.subtract((before - idle.len()) as u64);
    }

    /// Closes all idle connections.
    pub(crate) fn close_idle(&self) {
        let closed = std::mem::take(&mut *self.idle.borrow_mut());
        self.counters().idle.subtract(closed.len() as u64);
    }
}

impl Drop for LocalServer {
    fn drop(&mut self) {
        self.close_idle();
    }
}

impl ServerConnection {
    pub(crate) fn new(stream: Stream, endpoint_version: u64) -> Self {
        Self { stream, requests: 0, habit: Habit::default(), born: Instant::now(), endpoint_version }
    }

    /// Notes a response that has come whole: how long its head was, and whether most of its body was spliced.
    pub(crate) fn saw(&mut self, head_bytes: u32, spliced: bool) {
        let expected = self.first_read_bytes().is_some();
        self.habit.saw(head_bytes, spliced);
        if !expected && self.first_read_bytes().is_some() {
            self.stream.socket().count_input();
        }
    }

    /// How much of the next response to read at first, if its body is likely to be a long one.
    pub(crate) fn first_read_bytes(&self) -> Option<usize> {
        self.habit.first_read_bytes()
    }
}

impl IdleConnection {
    fn is_good(&self, rules: &ConnectionReuse, now: Instant, version: u64) -> bool {
        // A sum is compared sooner than a difference. What is too far away to be told never comes.
        let is_within = |since: Instant, max: Duration| since.checked_add(max).is_none_or(|end| now < end);
        self.connection.endpoint_version == version
            && is_within(self.since, rules.idle_timeout.duration())
            && is_within(self.connection.born, rules.age_max.duration())
            && !self.connection.stream.has_pending_input()
    }
}
