use std::collections::hash_map::RandomState;
use std::fmt;
use std::hash::{BuildHasher, Hash};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::oneshot;
use weir_balance::{Departures, Next, Queue, Rank, Ticket};

/// Those who wait because a pool has no room, or because the one server has none that they are bound to; on whatever
/// worker they are.
///
/// While nobody waits this costs one look at a counter for each request that begins or ends. As soon as somebody does,
/// nobody else may choose a server: whoever comes takes a place behind. A server's place that becomes free is granted to
/// the one who is next, and to no other: that one is woken, chooses by its worker's own picker, and tells with
/// `served` that it did. So a newcomer cannot overtake, and nobody is woken in vain.
///
/// Why no place stays free while somebody waits: who enters counts itself first and looks for room then; who ends a
/// request makes room first and looks for waiters then. Both are sequentially consistent, so one of them sees the other.
/// And whoever was granted a place looks for more room when it has used it, or given it up.
#[derive(Debug)]
#[repr(align(128))]
pub struct RequestQueue {
    /// Who waits, those included who have been granted a place and have not chosen yet.
    waiting: AtomicU32,
    /// In a pool's queue: who waits for one of its servers, in that server's queue.
    bound: AtomicU32,
    /// The most that waited at once.
    most: AtomicU32,
    refused_full: AtomicU64,
    refused_hopeless: AtomicU64,
    line: Mutex<Line>,
    hasher: RandomState,
    started: Instant,
}

#[derive(Debug, Default)]
struct Line {
    queue: Queue<oneshot::Sender<Grant>>,
    departures: Departures,
    /// Who has been granted a place and has not chosen yet.
    granted: u64,
}

/// A place at a server has become free for one who waited.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Grant {
    /// How many were served while it waited.
    pub(crate) served_before: u32,
}

/// How many were served while a request waited.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct QueueAhead {
    /// In the queue of the server that it is bound to.
    pub(crate) server: u32,
    /// In its pool's queue.
    pub(crate) pool: u32,
}

/// A place in the queue, and the way by which its owner is called.
pub(crate) type Entered = (Ticket, oneshot::Receiver<Grant>);

/// How one may wait.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Terms {
    pub(crate) rank: Rank,
    /// How long it is going to wait at most.
    pub(crate) patience: Duration,
}

/// Why one may not wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Refusal {
    pub(crate) cause: RefusalCause,
    /// How long the wait would be, if that is known.
    pub(crate) wait: Option<Duration>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RefusalCause {
    /// As many wait as may.
    Full,
    /// Its time would be over before its turn came.
    Hopeless,
}

impl Default for RequestQueue {
    fn default() -> Self {
        Self {
            waiting: AtomicU32::new(0),
            bound: AtomicU32::new(0),
            most: AtomicU32::new(0),
            refused_full: AtomicU64::new(0),
            refused_hopeless: AtomicU64::new(0),
            line: Mutex::default(),
            hasher: RandomState::new(),
            started: Instant::now(),
        }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.cause {
            RefusalCause::Full => f.write_str("as many requests wait for a server as may"),
            RefusalCause::Hopeless => f.write_str("the wait for a server would be too long"),
        }
    }
}

impl RequestQueue {
    /// How many wait.
    pub fn length(&self) -> u32 {
        self.waiting.load(Ordering::SeqCst)
    }

    /// How many wait, those included who wait for one server of the pool.
    pub fn length_in_all(&self) -> u32 {
        self.length().saturating_add(self.bound.load(Ordering::Relaxed))
    }

    /// One more, or one less, waits for one server of the pool.
    pub(crate) fn count_bound(&self, comes: bool) {
        if comes {
            self.bound.fetch_add(1, Ordering::Relaxed);
            self.most.fetch_max(self.length_in_all(), Ordering::Relaxed);
        } else {
            self.bound.fetch_sub(1, Ordering::Relaxed);
        }
    }

    /// The most that ever waited at once.
    pub fn most(&self) -> u32 {
        self.most.load(Ordering::Relaxed)
    }

    /// How long the one has been waiting who waits longest.
    pub fn longest_wait(&self) -> Duration {
        if self.length() == 0 {
            return Duration::ZERO;
        }
        let now_us = self.micros(Instant::now());
        Duration::from_micros(self.line().queue.longest_wait_us(now_us).unwrap_or(0))
    }

    /// Requests that were refused because as many waited as may, and because their wait would have been too long.
    pub fn refused(&self) -> (u64, u64) {
        (self.refused_full.load(Ordering::Relaxed), self.refused_hopeless.load(Ordering::Relaxed))
    }

    /// A client's number for [`Rank::client`]: nobody outside can choose one.
    pub(crate) fn client_number(&self, client: impl Hash) -> u64 {
        self.hasher.hash_one(client)
    }

    /// One may not wait.
    pub(crate) fn count_refusal(&self, cause: RefusalCause) {
        match cause {
            RefusalCause::Full => self.refused_full.fetch_add(1, Ordering::Relaxed),
            RefusalCause::Hopeless => self.refused_hopeless.fetch_add(1, Ordering::Relaxed),
        };
    }

    /// Takes a place, if one may; more than `length_max` may not wait at once. [`RequestQueue::revise`] must follow: a
    /// server may have become free in between.
    pub(crate) fn enter(&self, terms: &Terms, length_max: u32, now: Instant) -> Result<Entered, Refusal> {
        let now_us = self.micros(now);
        let mut line = self.line();
        let ahead = line.queue.ahead_of(&terms.rank);
        let wait = line.departures.wait_us(ahead, now_us).map(Duration::from_micros);
        // Saturates: as many connections there cannot be.
        let length = u32::try_from(line.queue.len()).unwrap_or(u32::MAX);
        if length >= length_max {
            return Err(Refusal { cause: RefusalCause::Full, wait });
        }
        // Where nobody waits, what was measured is old, and to wait is to find out.
        if length > 0 && wait.is_some_and(|wait| wait > terms.patience) {
            return Err(Refusal { cause: RefusalCause::Hopeless, wait });
        }
        let (caller, called) = oneshot::channel();
        let ticket = line.queue.enter(terms.rank, now_us, caller);
        self.waiting.fetch_add(1, Ordering::SeqCst);
        self.most.fetch_max(self.length_in_all(), Ordering::Relaxed);
        Ok((ticket, called))
    }

    /// Something may have changed: if there is room that has not been granted, the next one gets it. That one looks for
    /// more.
    pub(crate) fn revise(&self, has_room: impl FnOnce() -> bool) {
        if self.length() > 0 {
            let mut line = self.line();
            if line.granted == 0 && has_room() {
                line.grant();
            }
        }
    }

    /// A request has ended. `freed`: whether that has made a place for another one; `has_room`: whether there is any.
    /// Returns whether somebody was called.
    pub(crate) fn ended(&self, freed: impl FnOnce() -> bool, has_room: impl FnOnce() -> bool) -> bool {
        if self.length() == 0 {
            return false;
        }
        let mut line = self.line();
        (freed() || (line.granted == 0 && has_room())) && line.grant()
    }

    /// Servers have come, gone, or changed, and have room for `room` more requests now.
    pub(crate) fn changed(&self, room: u64) {
        if self.length() > 0 {
            let mut line = self.line();
            line.departures.forget();
            while line.granted < room && line.grant() {}
        }
    }

    /// Who was granted a place has chosen a server.
    pub(crate) fn served(&self, now: Instant) {
        let now_us = self.micros(now);
        let mut line = self.line();
        let others_wait = !line.queue.is_empty();
        line.departures.departed(now_us, others_wait);
        self.left(&mut line, true);
    }

    /// Gives a place up. Returns whether it had been granted one: then [`RequestQueue::revise`] must follow.
    pub(crate) fn leave(&self, ticket: &Ticket) -> bool {
        let mut line = self.line();
        let was_granted = line.queue.leave(ticket).is_none();
        self.left(&mut line, was_granted);
        was_granted
    }

    /// Who was granted a place found none: it waits on where it was. [`RequestQueue::revise`] must follow.
    pub(crate) fn put_back(&self, ticket: Ticket) -> oneshot::Receiver<Grant> {
        let (caller, called) = oneshot::channel();
        let mut line = self.line();
        line.granted = line.granted.saturating_sub(1);
        line.queue.put_back(ticket, caller);
        called
    }

    fn left(&self, line: &mut Line, was_granted: bool) {
        if was_granted {
            line.granted = line.granted.saturating_sub(1);
        }
        if line.queue.is_empty() {
            line.departures.emptied();
        }
        self.waiting.fetch_sub(1, Ordering::SeqCst);
    }

    fn line(&self) -> MutexGuard<'_, Line> {
        // No panic can leave it half done.
        self.line.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn micros(&self, now: Instant) -> u64 {
        now.saturating_duration_since(self.started).as_micros() as u64
    }
}

impl Line {
    /// Calls the one who is next. False if nobody waits.
    fn grant(&mut self) -> bool {
        let Some(Next { who, served_before, .. }) = self.queue.take_next() else { return false };
        self.granted += 1;
        let served_before = u32::try_from(served_before).unwrap_or(u32::MAX);
        // Who has gone in this moment finds itself out of the queue when it leaves, and passes the place on.
        let _ = who.send(Grant { served_before });
        true
    }
}
