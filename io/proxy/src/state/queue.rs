//! Queues of the requests that wait for a server.

use std::collections::hash_map::RandomState;
use std::fmt;
use std::hash::{BuildHasher, Hash};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::oneshot;
use weir_balance::{Admission, Departures, Next, Queue, Rank, RefusalCause, Ticket};

use super::ReservedPlace;

/// Requests of all workers that wait because a pool has no room, or because the one server that they are
/// bound to has none.
///
/// While no request waits, each request reads only one counter when it begins or ends. While a request waits,
/// no other request may choose a server: a new request enters the queue behind it. When a place at a server
/// becomes free, it is granted to the next request only. That request is woken, chooses with its worker's own
/// picker, and confirms with `served`. A new request therefore cannot overtake, and no request is woken in
/// vain.
///
/// The queue of one server works differently, because new requests that do not wait may choose that server
/// too. There the place itself is handed to the next request and is never free in between.
///
/// A pool's queue holds two kinds of requests: those that any server suits, and those that have a server with
/// a free place and wait for room in the pool. If only the next request of one kind can proceed, it does. If
/// both can, the one that would be first in a common queue proceeds; clients take turns only within each
/// kind.
///
/// No place stays free while a request waits. A request that enters counts itself first and then looks for
/// room. A request that ends makes room first and then looks for waiting requests. Both steps are
/// sequentially consistent, so one of the two sees the other. A request that was granted a place looks for
/// more room when it has used the place or given it up.
///
/// The field that each request reads comes first, because a server stores it beside its other hot fields.
#[derive(Debug)]
#[repr(C)]
pub struct RequestQueue {
    /// Number of waiting requests, including those that have been granted a place and have not chosen yet.
    waiting: AtomicU32,
    /// In a pool's queue: number of requests that wait in the queues of its servers.
    bound: AtomicU32,
    /// Highest number of requests that waited at once.
    most: AtomicU32,
    refused_full: AtomicU64,
    refused_hopeless: AtomicU64,
    line: Mutex<Line>,
    hasher: RandomState,
    started: Instant,
}

#[derive(Debug, Default)]
struct Line {
    /// Requests that wait for a place at a server.
    places: Queue<oneshot::Sender<Grant>>,
    /// In a pool's queue: requests that wait for room in the pool.
    rooms: Queue<oneshot::Sender<Grant>>,
    departures: Departures,
    /// Number of requests that have been granted a place and have not chosen yet.
    granted: u64,
}

/// Message to a waiting request: a place at a server has become free for it.
#[derive(Debug, Default)]
pub(crate) struct Grant {
    /// Number of requests of its kind that were served while it waited.
    pub(crate) served_before: u32,
    /// The place, if the request waited for one server. Without it, the request must choose for itself.
    pub(crate) place: Option<ReservedPlace>,
}

/// Kinds of waiting requests that can proceed.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Free {
    /// True if a request that waits for a place at a server can proceed.
    pub(crate) places: bool,
    /// True if a request that waits for room in the pool can proceed.
    pub(crate) rooms: bool,
}

/// Result for the next request that waits for a certain server.
#[derive(Debug)]
pub(crate) enum Offer {
    /// There is no place; the request waits on.
    Nothing,
    /// The server has changed, or the pool has no room: the request must choose for itself.
    Look,
    /// This place.
    Place(ReservedPlace),
}

/// Number of requests that were served while a request waited.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct QueueAhead {
    /// In the queue of the server that the request is bound to.
    pub(crate) server: u32,
    /// In the queue of its pool.
    pub(crate) pool: u32,
}

/// A position in the queue, and the channel on which its owner is called.
pub(crate) type Entered = (Spot, oneshot::Receiver<Grant>);

/// Position of a request in a queue.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Spot {
    ticket: Ticket,
    for_room: bool,
}

/// Conditions under which a request waits.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Terms {
    pub(crate) rank: Rank,
    /// Longest time that the request will wait.
    pub(crate) patience: Duration,
}

/// Reason why a request may not wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Refusal {
    pub(crate) cause: RefusalCause,
    /// Expected wait, if known.
    pub(crate) wait: Option<Duration>,
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
    /// Returns the number of waiting requests.
    pub fn length(&self) -> u32 {
        self.waiting.load(Ordering::SeqCst)
    }

    /// Returns the number of waiting requests, including those that wait for one server of the pool.
    pub fn length_in_all(&self) -> u32 {
        self.length().saturating_add(self.bound.load(Ordering::SeqCst))
    }

    /// Counts one more request, or one less, that waits for one server of the pool. The caller must then
    /// check for free places, as after [`Self::enter`].
    pub(crate) fn count_bound(&self, comes: bool) {
        if comes {
            self.bound.fetch_add(1, Ordering::SeqCst);
            self.most.fetch_max(self.length_in_all(), Ordering::Relaxed);
        } else {
            self.bound.fetch_sub(1, Ordering::SeqCst);
        }
    }

    /// In a pool's queue: returns true if a request waits for one of its servers. Otherwise callers need not
    /// read the servers' own queues, which with thousands of servers are not in the CPU cache.
    pub(crate) fn has_bound(&self) -> bool {
        self.bound.load(Ordering::SeqCst) > 0
    }

    /// Returns the highest number of requests that waited at once.
    pub fn most(&self) -> u32 {
        self.most.load(Ordering::Relaxed)
    }

    /// Returns how long the longest-waiting request has waited.
    pub fn longest_wait(&self) -> Duration {
        if self.length() == 0 {
            return Duration::ZERO;
        }
        let now_us = self.micros(Instant::now());
        Duration::from_micros(self.line().longest_wait_us(now_us).unwrap_or(0))
    }

    /// Returns how many requests were refused because the queue was full, and how many because their wait
    /// would have been too long.
    pub fn refused(&self) -> (u64, u64) {
        (self.refused_full.load(Ordering::Relaxed), self.refused_hopeless.load(Ordering::Relaxed))
    }

    /// Returns a client's number for [`Rank::client`]. The hash is keyed, so a client cannot choose its
    /// number.
    pub(crate) fn client_number(&self, client: impl Hash) -> u64 {
        self.hasher.hash_one(client)
    }

    /// Counts a request that may not wait.
    pub(crate) fn count_refusal(&self, cause: RefusalCause) {
        match cause {
            RefusalCause::Full => self.refused_full.fetch_add(1, Ordering::Relaxed),
            RefusalCause::Hopeless => self.refused_hopeless.fetch_add(1, Ordering::Relaxed),
        };
    }

    /// Enters the queue, unless `length_max` requests wait already or the wait would be too long. `for_room`:
    /// the request has a server with a free place and waits for room in the pool. The caller must then check
    /// for free places, because one may have become free in between.
    pub(crate) fn enter(
        &self,
        terms: &Terms,
        for_room: bool,
        length_max: u32,
        now: Instant,
    ) -> Result<Entered, Refusal> {
        let now_us = self.micros(now);
        let mut line = self.line();
        let ahead = line.ahead_of(&terms.rank);
        let wait_us = line.departures.wait_us(ahead, now_us);
        let patience_us = u64::try_from(terms.patience.as_micros()).unwrap_or(u64::MAX);
        let admission = Admission { length: line.len(), length_max, wait_us, patience_us };
        let wait = wait_us.map(Duration::from_micros);
        admission.decide().map_err(|cause| Refusal { cause, wait })?;
        let (caller, called) = oneshot::channel();
        let ticket = line.kind(for_room).enter(terms.rank, now_us, caller);
        self.waiting.fetch_add(1, Ordering::SeqCst);
        self.most.fetch_max(self.length_in_all(), Ordering::Relaxed);
        Ok((Spot { ticket, for_room }, called))
    }

    /// Grants free room to the next request, unless a grant is pending. That request then looks for more
    /// room. Called when room may have become free.
    pub(crate) fn revise(&self, free: impl FnOnce() -> Free) {
        if self.length() > 0 {
            let mut line = self.line();
            if line.granted == 0 {
                line.grant(free());
            }
        }
    }

    /// Grants room after a request has ended. `freed` returns the kinds that its place suits; `free` returns
    /// the kinds that any room suits.
    pub(crate) fn ended(&self, freed: impl FnOnce() -> Free, free: impl FnOnce() -> Free) {
        if self.length() > 0 {
            let mut line = self.line();
            if !line.grant(freed()) && line.granted == 0 {
                line.grant(free());
            }
        }
    }

    /// Grants room after a change of servers: the servers have room for `places` more requests, the pool for
    /// `rooms`.
    pub(crate) fn changed(&self, places: u64, rooms: u64) {
        if self.length() > 0 {
            let mut line = self.line();
            loop {
                let free = Free { places: line.granted < places, rooms: line.granted < rooms };
                if !line.grant(free) {
                    break;
                }
            }
        }
    }

    /// Calls all waiting requests, because their server is gone or no longer theirs.
    pub(crate) fn call_all(&self) {
        self.changed(u64::MAX, u64::MAX);
    }

    /// Forgets the measured pace, which was that of other servers.
    pub(crate) fn forget_pace(&self) {
        self.line().departures.forget();
    }

    /// In a server's queue: gives the next requests what `offer` returns for them. Returns true if any
    /// request was called.
    pub(crate) fn hand_out(&self, mut offer: impl FnMut() -> Offer) -> bool {
        if self.length() == 0 {
            return false;
        }
        let (mut was_called, mut unwanted) = (false, None);
        let mut line = self.line();
        while unwanted.is_none() && !line.places.is_empty() {
            match offer() {
                Offer::Place(place) => unwanted = line.give(place),
                Offer::Look if line.granted == 0 => {
                    return line.grant(Free { places: true, rooms: false }) || was_called;
                }
                Offer::Look | Offer::Nothing => break,
            }
            was_called |= unwanted.is_none();
        }
        // Dropping a place looks for the next waiting request, which takes the lock.
        drop(line);
        drop(unwanted);
        was_called
    }

    /// In a server's queue: gives a place to the next request. Returns the place if no request waits.
    pub(crate) fn hand_over(&self, place: ReservedPlace) -> Option<ReservedPlace> {
        self.line().give(place)
    }

    /// Records that a request that was granted a place has chosen a server.
    pub(crate) fn served(&self, now: Instant) {
        let now_us = self.micros(now);
        let mut line = self.line();
        let others_wait = line.len() > 0;
        line.departures.departed(now_us, others_wait);
        self.left(&mut line, true);
    }

    /// Gives up a position. Returns true if a place had been granted to it; the caller must then check for
    /// free places.
    pub(crate) fn leave(&self, spot: &Spot) -> bool {
        let mut line = self.line();
        let was_granted = line.kind(spot.for_room).leave(&spot.ticket).is_none();
        self.left(&mut line, was_granted);
        was_granted
    }

    /// Returns a request to its former position, because it was granted a place and found none. The caller
    /// must then check for free places.
    pub(crate) fn put_back(&self, spot: Spot) -> oneshot::Receiver<Grant> {
        let (caller, called) = oneshot::channel();
        let mut line = self.line();
        line.granted = line.granted.saturating_sub(1);
        line.kind(spot.for_room).put_back(spot.ticket, caller);
        called
    }

    fn left(&self, line: &mut Line, was_granted: bool) {
        if was_granted {
            line.granted = line.granted.saturating_sub(1);
        }
        if line.len() == 0 {
            line.departures.emptied();
        }
        self.waiting.fetch_sub(1, Ordering::SeqCst);
    }

    fn line(&self) -> MutexGuard<'_, Line> {
        // No panic can interrupt a change, so the state is valid even if the lock is poisoned.
        self.line.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn micros(&self, now: Instant) -> u64 {
        now.saturating_duration_since(self.started).as_micros() as u64
    }
}

impl Line {
    /// Calls the next request among the kinds that can proceed. Returns false if there is none.
    fn grant(&mut self, free: Free) -> bool {
        let place = free.places.then(|| self.places.first()).flatten();
        let room = free.rooms.then(|| self.rooms.first()).flatten();
        let for_room = match (place, room) {
            (None, None) => return false,
            (Some(place), Some(room)) => room < place,
            (_, room) => room.is_some(),
        };
        self.call(for_room, Grant::default()).is_none()
    }

    /// Gives the place to the next request. Returns the place if no request waits.
    fn give(&mut self, place: ReservedPlace) -> Option<ReservedPlace> {
        self.call(false, Grant { place: Some(place), served_before: 0 })?.place
    }

    /// Sends the grant to the next request of its kind. Returns the grant if there is none.
    fn call(&mut self, for_room: bool, mut grant: Grant) -> Option<Grant> {
        while let Some(Next { who, served_before, .. }) = self.kind(for_room).take_next() {
            self.granted += 1;
            grant.served_before = u32::try_from(served_before).unwrap_or(u32::MAX);
            match who.send(grant) {
                Ok(()) => return None,
                // The request is just leaving and will find itself out of the queue. The place goes to the
                // next one.
                Err(back) => grant = back,
            }
        }
        Some(grant)
    }

    fn kind(&mut self, for_room: bool) -> &mut Queue<oneshot::Sender<Grant>> {
        if for_room { &mut self.rooms } else { &mut self.places }
    }

    fn len(&self) -> usize {
        self.places.len() + self.rooms.len()
    }

    fn ahead_of(&self, rank: &Rank) -> usize {
        self.places.ahead_of(rank) + self.rooms.ahead_of(rank)
    }

    fn longest_wait_us(&self, now_us: u64) -> Option<u64> {
        let (places, rooms) = (self.places.longest_wait_us(now_us), self.rooms.longest_wait_us(now_us));
        places.into_iter().chain(rooms).max()
    }
}

#[cfg(test)]
mod tests {
    use std::mem::offset_of;

    use super::*;

    #[test]
    fn what_each_request_looks_at_is_the_first_of_a_queue() {
        assert_eq!(offset_of!(RequestQueue, waiting), 0);
    }
}
