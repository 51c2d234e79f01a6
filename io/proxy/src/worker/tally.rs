//! Counts the events of many servers in batches.
//!
//! With thousands of servers, their counters are not in the CPU cache, and a request that counted at once
//! would wait for each cache line in turn. A worker therefore notes each event and counts all of them before
//! it waits for new events, so that the lines for all notes are fetched in parallel.

use std::cell::{Cell, RefCell};
use std::hint::black_box;
use std::rc::Rc;
use std::time::{Duration, Instant};

use super::server::LocalServer;
use crate::state::ServerCounters;

/// The notes of one worker.
#[derive(Default)]
pub(super) struct Tally {
    notes: RefCell<Vec<Note>>,
    /// Idle connections on this thread, according to the notes already counted.
    idle: Cell<usize>,
}

struct Note {
    server: Rc<LocalServer>,
    done: Done,
}

/// Event to count for a server.
#[derive(Debug)]
pub(crate) enum Done {
    /// The server was chosen.
    Chosen,
    /// `taken` idle connections were taken out, and the last one is used if `reused`.
    TakenIdle { taken: u32, reused: bool },
    /// A connection was opened, in this time.
    Connected(Duration),
    /// An idle connection was kept.
    KeptIdle,
    /// The server has finished its work for a request.
    Served(Served),
}

/// The work of a server for one request.
#[derive(Debug)]
pub(crate) struct Served {
    /// End of the work.
    pub(crate) at: Instant,
    /// Bytes sent to the server.
    pub(crate) bytes_out: u64,
    /// The response, if one arrived.
    pub(crate) response: Option<Response>,
    /// Time from the last byte of the request to the first byte of the response.
    pub(crate) first_byte_us: Option<u32>,
}

/// A response, as far as it is counted.
#[derive(Debug)]
pub(crate) struct Response {
    pub(crate) status: u16,
    /// Time from the choice of the server to the last byte.
    pub(crate) total_us: u32,
    /// Bytes of head and body.
    pub(crate) bytes_in: u64,
}

thread_local! {
    static TALLY: Rc<Tally> = Rc::default();
}

/// Counts all notes of this thread.
pub(crate) fn count_what_was_noted() {
    TALLY.with(|tally| tally.count());
}

/// Returns the number of idle connections to servers on this thread, according to the notes already counted.
pub(super) fn idle_here() -> usize {
    TALLY.with(|tally| tally.idle.get())
}

/// Maximum number of notes before they are counted: a multiple of the memory accesses that a processor has in
/// flight at once.
const NOTES_MAX: usize = 64;

impl Tally {
    pub(super) fn one_more_idle(&self) {
        self.idle.set(self.idle.get() + 1);
    }

    pub(super) fn fewer_idle(&self, count: usize) {
        self.idle.set(self.idle.get().saturating_sub(count));
    }

    pub(super) fn of_this_thread() -> Rc<Self> {
        TALLY.with(Rc::clone)
    }

    pub(super) fn note(&self, server: &Rc<LocalServer>, done: Done) {
        let mut notes = self.notes.borrow_mut();
        notes.push(Note { server: Rc::clone(server), done });
        if notes.len() >= NOTES_MAX {
            drop(notes);
            self.count();
        }
    }

    pub(super) fn count(&self) {
        if self.notes.borrow().is_empty() {
            return;
        }
        // The notes are taken out first. A server that only a note holds is dropped here, and its destructor
        // may add notes.
        let mut notes = self.notes.take();
        // These reads do not depend on each other, so the processor fetches the lines in parallel.
        black_box(notes.iter().map(Note::look).fold(0, u64::wrapping_add));
        notes.drain(..).for_each(Note::count);
        notes.append(&mut self.notes.take());
        self.notes.replace(notes);
    }
}

impl Note {
    /// Reads the memory that [`Note::count`] will change, to load it into the CPU cache.
    fn look(&self) -> u64 {
        let counters = self.server.counters();
        match &self.done {
            Done::Chosen | Done::TakenIdle { .. } | Done::KeptIdle => counters.requests.get(),
            Done::Connected(took) => {
                counters.connections.get().wrapping_add(counters.connect.peek(micros(*took)))
            }
            Done::Served(served) => {
                let times = [
                    (ServerCounters::TOTAL, served.response.as_ref().map(|response| response.total_us)),
                    (ServerCounters::FIRST_BYTE, served.first_byte_us),
                ];
                let of = |(side, micros): (_, Option<u32>)| Some(counters.times.peek(side, micros?.into()));
                let looked_at = times.into_iter().filter_map(of).fold(0, u64::wrapping_add);
                looked_at.wrapping_add(self.server.shared.last_used_ms())
            }
        }
    }

    fn count(self) {
        let counters = self.server.counters();
        match self.done {
            Done::Chosen => counters.requests.one(),
            Done::TakenIdle { taken, reused } => {
                self.server.fewer_idle(taken as usize);
                counters.reuses.add(reused.into());
            }
            Done::Connected(took) => {
                counters.connections.one();
                counters.connect.record(micros(took));
            }
            Done::KeptIdle => self.server.one_more_idle(),
            Done::Served(served) => {
                counters.bytes_out.add(served.bytes_out);
                if let Some(response) = served.response {
                    counters.bytes_in.add(response.bytes_in);
                    counters.responses.count(response.status);
                    counters.times.record(ServerCounters::TOTAL, response.total_us.into());
                }
                if let Some(first_byte_us) = served.first_byte_us {
                    counters.times.record(ServerCounters::FIRST_BYTE, first_byte_us.into());
                }
                self.server.shared.touch(served.at);
            }
        }
    }
}

fn micros(time: Duration) -> u64 {
    time.as_micros() as u64
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use weir_model::ServerName;

    use super::*;
    use crate::state::{Endpoint, ServerState};

    fn server() -> (Arc<ServerState>, Rc<LocalServer>) {
        let name = ServerName::new("a").unwrap();
        let state = Arc::new(ServerState::new(1, name, String::new(), 0, Endpoint::Unresolved, 1));
        (Arc::clone(&state), Rc::new(LocalServer::new(state, 0)))
    }

    fn served(response: Option<Response>, first_byte_us: Option<u32>) -> Done {
        Done::Served(Served { at: Instant::now(), bytes_out: 100, response, first_byte_us })
    }

    #[test]
    fn all_that_was_noted_is_counted_once() {
        let (state, server) = server();
        let counters = state.counters.of(0);
        let response = Response { status: 404, total_us: 700, bytes_in: 5 };
        server.note(Done::Chosen);
        server.note(Done::Connected(Duration::from_micros(30)));
        server.note(served(Some(response), Some(500)));
        server.note(Done::KeptIdle);
        server.note(Done::KeptIdle);
        server.note(Done::TakenIdle { taken: 1, reused: true });
        assert_eq!((counters.requests.get(), counters.bytes_out.get(), state.idle_for()), (0, 0, None));
        for _ in 0..2 {
            count_what_was_noted();
            assert_eq!(
                [&counters.requests, &counters.connections, &counters.reuses].map(|it| it.get()),
                [1; 3]
            );
            assert_eq!((counters.bytes_out.get(), counters.bytes_in.get()), (100, 5));
            assert_eq!(counters.responses.get(), [0, 0, 0, 1, 0, 0]);
            assert_eq!(counters.idle.get(), 1);
            assert_eq!(counters.connect.get().unwrap().snapshot().max(), 30);
            for (side, max) in [(ServerCounters::TOTAL, 700), (ServerCounters::FIRST_BYTE, 500)] {
                let mut times = weir_stats::Histogram::new(weir_stats::Resolution::Fine);
                counters.times.add_to(side, &mut times);
                assert_eq!((times.count(), times.max()), (1, max));
            }
            assert!(state.idle_for().is_some());
        }
    }

    #[test]
    fn a_request_without_a_response_counts_what_was_sent() {
        let (state, server) = server();
        server.note(served(None, None));
        count_what_was_noted();
        let counters = state.counters.of(0);
        assert_eq!((counters.bytes_out.get(), counters.responses.get()), (100, [0; 6]));
        assert!(counters.times.is_empty(ServerCounters::TOTAL));
    }

    #[test]
    fn a_worker_that_never_waits_counts_all_the_same() {
        let (state, server) = server();
        (0..NOTES_MAX).for_each(|_| server.note(Done::Chosen));
        assert_eq!(state.counters.of(0).requests.get(), NOTES_MAX as u64);
    }

    #[test]
    fn a_server_that_nobody_else_holds_is_counted_and_let_go() {
        let (state, server) = server();
        server.note(Done::Chosen);
        drop(server);
        assert_eq!(Arc::strong_count(&state), 2);
        count_what_was_noted();
        assert_eq!((Arc::strong_count(&state), state.counters.of(0).requests.get()), (1, 1));
    }
}
