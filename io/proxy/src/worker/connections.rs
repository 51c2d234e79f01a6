//! The client connections of a worker: the client of each, and since when it waits for that client. When no
//! more connections may be open, connections of the client with the most waiting ones are closed in favour of
//! a new one.
//!
//! A connection waits between two requests, until the head of its first request has arrived, and while the
//! client stops sending a request body. A connection with any other request in progress is never closed for a
//! new one.

mod victims;

use std::cell::RefCell;
use std::hash::{BuildHasher, RandomState};
use std::net::IpAddr;

use weir_model::client_network;
use weir_net::Timers;

use crate::state::Full;
use victims::{Victims, Waiting};

/// Identifies the client of a connection. [`Source::ALONE`] = the connection is not grouped with any other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Source(u64);

impl Source {
    /// Source for connections from a Unix socket, or from a proxy that many clients share.
    pub(crate) const ALONE: Self = Self(0);
}

/// The connections of one worker.
#[derive(Debug, Default)]
pub(crate) struct ConnectionTable {
    entries: RefCell<Entries>,
    victims: RefCell<Victims>,
    /// Hasher with random keys, so that clients cannot make their addresses collide.
    hasher: RandomState,
}

#[derive(Debug, Default)]
struct Entries {
    all: Vec<Entry>,
    /// Numbers of unused entries.
    free: Vec<u32>,
}

#[derive(Debug)]
struct Entry {
    source: Source,
    /// Number of its listener, which reloads do not change.
    listener: usize,
    /// Start of the wait in milliseconds; [`BUSY`] while the connection has a request, [`FREE`] if the entry
    /// is unused.
    waits_since_ms: u64,
    deadline: u32,
    /// True if the connection waits for the body of a request.
    has_request: bool,
    gives_way: GivesWay,
}

/// Limit for which a connection has to close, if it has to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum GivesWay {
    No,
    InProcess,
    InListener,
}

impl GivesWay {
    fn to(full: Full) -> Self {
        match full {
            Full::Process => Self::InProcess,
            Full::Listener(_) => Self::InListener,
        }
    }
}

const BUSY: u64 = u64::MAX;
const FREE: u64 = u64::MAX - 1;

/// Time without a byte after which a request body counts as stalled, in milliseconds.
const STALLED_MS: u64 = 1_000;

impl Entries {
    fn insert(&mut self, entry: Entry) -> u32 {
        match self.free.pop() {
            Some(number) => {
                self.all[number as usize] = entry;
                number
            }
            None => {
                self.all.push(entry);
                (self.all.len() - 1) as u32
            }
        }
    }

    fn remove(&mut self, number: u32) {
        if let Some(entry) = self.all.get_mut(number as usize) {
            entry.waits_since_ms = FREE;
            self.free.push(number);
        }
    }

    fn waiting(&self, full: Full, now_ms: u64) -> Vec<Waiting> {
        let is_meant = |entry: &Entry| match full {
            Full::Process => true,
            Full::Listener(listener) => listener == entry.listener,
        };
        let waits = |entry: &Entry| {
            let least_ms = if entry.has_request { STALLED_MS } else { 0 };
            entry.waits_since_ms < FREE && entry.waits_since_ms.saturating_add(least_ms) <= now_ms
        };
        let gives = |entry: &Entry| waits(entry) && entry.gives_way == GivesWay::No && is_meant(entry);
        let waiting = self.all.iter().enumerate().filter(|(_, entry)| gives(entry));
        waiting
            .map(|(number, entry)| Waiting {
                number: number as u32,
                source: entry.source,
                has_request: entry.has_request,
                since_ms: entry.waits_since_ms,
            })
            .collect()
    }

    /// Returns true if the connection still waits as it did when it was listed.
    fn is_still(&self, waiting: &Waiting) -> bool {
        let entry = self.all.get(waiting.number as usize);
        entry.is_some_and(|entry| entry.waits_since_ms == waiting.since_ms && entry.gives_way == GivesWay::No)
    }

    fn give_way(&mut self, number: u32, full: Full, timers: &Timers) -> bool {
        let Some(entry) = self.all.get_mut(number as usize) else { return false };
        entry.gives_way = GivesWay::to(full);
        timers.expire(entry.deadline);
        true
    }
}

impl ConnectionTable {
    /// Returns the source of a client; all addresses of a client's network have the same one.
    pub(crate) fn source_of(&self, client: Option<IpAddr>) -> Source {
        client.map_or(Source::ALONE, |client| Source(self.hasher.hash_one(client_network(client)) | 1))
    }

    /// Adds a connection that starts to wait for its client. Returns its number.
    pub(crate) fn enter(&self, source: Source, listener: usize, now_ms: u64) -> u32 {
        let entry = Entry {
            source,
            listener,
            waits_since_ms: now_ms,
            deadline: u32::MAX,
            has_request: false,
            gives_way: GivesWay::No,
        };
        self.entries.borrow_mut().insert(entry)
    }

    /// Removes a closed connection.
    pub(crate) fn leave(&self, number: u32) {
        self.entries.borrow_mut().remove(number);
    }

    /// Sets the deadline that wakes the connection's task.
    pub(crate) fn woken_by(&self, number: u32, deadline: u32) {
        self.with(number, |entry| entry.deadline = deadline);
    }

    /// Sets the client of a connection once it is known.
    pub(crate) fn belongs_to(&self, number: u32, source: Source) {
        self.with(number, |entry| entry.source = source);
    }

    /// Records that the connection has a request and starts to wait for more of its body.
    pub(crate) fn waits_for_body(&self, number: u32, now_ms: u64) {
        self.with(number, |entry| (entry.has_request, entry.waits_since_ms) = (true, now_ms));
    }

    /// Records that the connection has a request and does not wait for its client.
    pub(crate) fn is_busy(&self, number: u32) {
        self.with(number, |entry| entry.waits_since_ms = BUSY);
    }

    /// Records that the connection starts to wait for its client again.
    pub(crate) fn waits(&self, number: u32, now_ms: u64) {
        self.with(number, |entry| (entry.has_request, entry.waits_since_ms) = (false, now_ms));
    }

    /// Returns true if the connection must close because new connections need its room.
    pub(crate) fn gives_way(&self, number: u32) -> bool {
        let entries = self.entries.borrow();
        entries.all.get(number as usize).is_some_and(|entry| entry.gives_way != GivesWay::No)
    }

    /// Makes room for a new connection by closing a waiting one. Does so only if another client has more
    /// waiting connections than the client of the new one would have. `elsewhere`: number of connections of
    /// that client in another worker. Returns true if a connection is being closed.
    #[cold]
    pub(crate) fn make_room(
        &self,
        full: Full,
        (newcomer, elsewhere): (Source, u32),
        now_ms: u64,
        timers: &Timers,
    ) -> bool {
        let mut entries = self.entries.borrow_mut();
        let is_still = |waiting: &Waiting| entries.is_still(waiting);
        let all = || entries.waiting(full, now_ms);
        let found = self.victims.borrow_mut().next(full, (newcomer, elsewhere), now_ms, is_still, all);
        found.is_some_and(|number| entries.give_way(number, full, timers))
    }

    /// Returns how many connections of this client were waiting at the last search for room.
    pub(crate) fn counted(&self, full: Full, source: Source) -> u32 {
        self.victims.borrow().counted(full, source)
    }

    /// Closes another connection of the same client instead of this one, because this one has just received a
    /// request. Returns false if there is no other one; this connection must then close.
    #[cold]
    pub(crate) fn passes_on(&self, number: u32, timers: &Timers) -> bool {
        let mut entries = self.entries.borrow_mut();
        let Some(entry) = entries.all.get(number as usize) else { return false };
        let full = match entry.gives_way {
            GivesWay::No => return true,
            GivesWay::InProcess => Full::Process,
            GivesWay::InListener => Full::Listener(entry.listener),
        };
        let is_still = |waiting: &Waiting| entries.is_still(waiting);
        let found = self.victims.borrow_mut().instead(full, entry.source, is_still);
        let has_other = found.is_some_and(|other| entries.give_way(other, full, timers));
        if has_other && let Some(entry) = entries.all.get_mut(number as usize) {
            entry.gives_way = GivesWay::No;
        }
        has_other
    }

    fn with(&self, number: u32, change: impl FnOnce(&mut Entry)) {
        if let Some(entry) = self.entries.borrow_mut().all.get_mut(number as usize) {
            change(entry);
        }
    }
}
