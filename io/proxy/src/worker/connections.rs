//! The client connections of a worker: whose they are, and since when they wait for their client. When no more may be open, those of the
//! client that has most of them waiting give way to a newcomer.
//!
//! A connection waits between two requests, until the head of its first one has come, and while the client stops sending the body of a
//! request. With any other request on its way it gives way to nobody.

mod victims;

use std::cell::RefCell;
use std::hash::{BuildHasher, RandomState};
use std::net::IpAddr;

use weir_model::client_network;
use weir_net::Timers;

use crate::state::Full;
use victims::{Victims, Waiting};

/// Whose a connection is; [`Source::ALONE`] = its own, whoever else has some.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Source(u64);

impl Source {
    /// Of a Unix socket, or of a proxy that many clients share.
    pub(crate) const ALONE: Self = Self(0);
}

/// The connections of one worker.
#[derive(Debug, Default)]
pub(crate) struct ConnectionTable {
    entries: RefCell<Entries>,
    victims: RefCell<Victims>,
    /// Clients cannot make their addresses collide.
    hasher: RandomState,
}

#[derive(Debug, Default)]
struct Entries {
    all: Vec<Entry>,
    /// Numbers of those that are nobody's.
    free: Vec<u32>,
}

#[derive(Debug)]
struct Entry {
    source: Source,
    /// Its listener, the same over reloads.
    listener: usize,
    /// [`BUSY`] while it has a request, [`FREE`] if it is no connection's.
    waits_since_ms: u64,
    deadline: u32,
    /// It waits for the body of a request.
    has_request: bool,
    gives_way: GivesWay,
}

/// Whether a connection has to end, and where others need its room.
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

/// The body of a request has stalled if no byte of it has come for so long.
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

    /// Whether it still waits as when it was looked at.
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
    /// The source that all of a client's addresses have.
    pub(crate) fn source_of(&self, client: Option<IpAddr>) -> Source {
        client.map_or(Source::ALONE, |client| Source(self.hasher.hash_one(client_network(client)) | 1))
    }

    /// A connection that waits for its client from now on. Returns its number.
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

    /// The connection is gone.
    pub(crate) fn leave(&self, number: u32) {
        self.entries.borrow_mut().remove(number);
    }

    /// The deadline that wakes the connection's task.
    pub(crate) fn woken_by(&self, number: u32, deadline: u32) {
        self.with(number, |entry| entry.deadline = deadline);
    }

    /// It has become known whose it is.
    pub(crate) fn belongs_to(&self, number: u32, source: Source) {
        self.with(number, |entry| entry.source = source);
    }

    /// It has a request, and waits for more of its body from now on.
    pub(crate) fn waits_for_body(&self, number: u32, now_ms: u64) {
        self.with(number, |entry| (entry.has_request, entry.waits_since_ms) = (true, now_ms));
    }

    /// It has a request, and does not wait for its client.
    pub(crate) fn is_busy(&self, number: u32) {
        self.with(number, |entry| entry.waits_since_ms = BUSY);
    }

    /// It waits for its client again.
    pub(crate) fn waits(&self, number: u32, now_ms: u64) {
        self.with(number, |entry| (entry.has_request, entry.waits_since_ms) = (false, now_ms));
    }

    /// Returns whether it has to end, because others need its room.
    pub(crate) fn gives_way(&self, number: u32) -> bool {
        let entries = self.entries.borrow();
        entries.all.get(number as usize).is_some_and(|entry| entry.gives_way != GivesWay::No)
    }

    /// Makes room for a newcomer, if another client has more connections waiting than it would have: `elsewhere` = so many it has in
    /// another worker. Whether it has.
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

    /// How many connections of this client waited when room was last looked for.
    pub(crate) fn counted(&self, full: Full, source: Source) -> u32 {
        self.victims.borrow().counted(full, source)
    }

    /// Has another connection of the same client give way in place of this one, whose next request has just come. Returns whether there is
    /// one; if not, this one has to give way all the same.
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
