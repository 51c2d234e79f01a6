use std::collections::hash_map::RandomState;
use std::fmt;
use std::hash::{BuildHasher, Hash};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::oneshot;
use weir_balance::{Admission, Departures, Next, Queue, Rank, RefusalCause, Ticket};

use super::ReservedPlace;

/// Those who wait because a pool has no room, or because the one server has none that they are bound to; on whatever
/// worker they are.
///
/// While nobody waits this costs one look at a counter for each request that begins or ends. As soon as somebody does,
/// nobody else may choose a server: whoever comes takes a place behind. A server's place that becomes free is granted to
/// the one who is next, and to no other: that one is woken, chooses by its worker's own picker, and tells with
/// `served` that it did. So a newcomer cannot overtake, and nobody is woken in vain.
///
/// In the queue of one server that would not do: newcomers who wait for nothing may choose that server, too. There the
/// place itself is given to the one who is next, and is never free in between.
///
/// In a pool's queue there are two kinds: those whom any server suits, and those who have a server with a place for them,
/// and wait for room in the pool. Of the two who are next of their kinds the one goes that can; if both can, the one that
/// would be next if they were in one queue, but that clients get their turns within each kind.
///
/// Why no place stays free while somebody waits: who enters counts itself first and looks for room then; who ends a
/// request makes room first and looks for waiters then. Both are sequentially consistent, so one of them sees the other.
/// And whoever was granted a place looks for more room when it has used it, or given it up.
///
/// What each request looks at stands first: a server has it beside what else is looked at for each request.
#[derive(Debug)]
#[repr(C)]
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
    /// Those who wait for a place at a server.
    places: Queue<oneshot::Sender<Grant>>,
    /// In a pool's queue: those who wait for room in the pool.
    rooms: Queue<oneshot::Sender<Grant>>,
    departures: Departures,
    /// Who has been granted a place and has not chosen yet.
    granted: u64,
}

/// A place at a server has become free for one who waited.
#[derive(Debug, Default)]
pub(crate) struct Grant {
    /// How many of its kind were served while it waited.
    pub(crate) served_before: u32,
    /// The place, where it waited for one server. Without it, it has to see for itself.
    pub(crate) place: Option<ReservedPlace>,
}

/// Who may go of those who wait.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Free {
    /// Who waits for a place at a server.
    pub(crate) places: bool,
    /// Who waits for room in the pool.
    pub(crate) rooms: bool,
}

/// What there is for one who waits for a certain server.
#[derive(Debug)]
pub(crate) enum Offer {
    /// It has to wait on.
    Nothing,
    /// Its server is not what it was, or the pool has no room: it has to see for itself.
    Look,
    /// This.
    Place(ReservedPlace),
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
pub(crate) type Entered = (Spot, oneshot::Receiver<Grant>);

/// Where one stands.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Spot {
    ticket: Ticket,
    for_room: bool,
}

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
        self.length().saturating_add(self.bound.load(Ordering::SeqCst))
    }

    /// One more, or one less, waits for one server of the pool. As for those who wait for any server, a look at what is free must
    /// follow.
    pub(crate) fn count_bound(&self, comes: bool) {
        if comes {
            self.bound.fetch_add(1, Ordering::SeqCst);
            self.most.fetch_max(self.length_in_all(), Ordering::Relaxed);
        } else {
            self.bound.fetch_sub(1, Ordering::SeqCst);
        }
    }

    /// In a pool's queue: whether somebody waits for one of its servers. Until then no server's own queue needs a look, which with
    /// thousands of servers is in no cache.
    pub(crate) fn has_bound(&self) -> bool {
        self.bound.load(Ordering::SeqCst) > 0
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
        Duration::from_micros(self.line().longest_wait_us(now_us).unwrap_or(0))
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

    /// Takes a place, if one may; more than `length_max` may not wait at once. `for_room`: it has a server with a place for
    /// it, and waits for room in the pool. A look at what is free must follow: a server may have become free in between.
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

    /// Something may have changed: if there is room that has not been granted, the next one gets it. That one looks for
    /// more.
    pub(crate) fn revise(&self, free: impl FnOnce() -> Free) {
        if self.length() > 0 {
            let mut line = self.line();
            if line.granted == 0 {
                line.grant(free());
            }
        }
    }

    /// A request has ended. `freed`: whom that has made a place for; `free`: whom there is any for.
    pub(crate) fn ended(&self, freed: impl FnOnce() -> Free, free: impl FnOnce() -> Free) {
        if self.length() > 0 {
            let mut line = self.line();
            if !line.grant(freed()) && line.granted == 0 {
                line.grant(free());
            }
        }
    }

    /// Servers have come, gone, or changed, and have room for so many more requests now; the pool, for so many.
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

    /// Calls everybody: their server is no longer theirs, or is gone.
    pub(crate) fn call_all(&self) {
        self.changed(u64::MAX, u64::MAX);
    }

    /// The pace that was measured was that of other servers.
    pub(crate) fn forget_pace(&self) {
        self.line().departures.forget();
    }

    /// In a server's queue: gives to those who are next what `offer` has for them. Returns whether anybody was called.
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
        // A place that is dropped looks for the next one who waits.
        drop(line);
        drop(unwanted);
        was_called
    }

    /// In a server's queue: gives a place to the one who is next. It comes back if nobody is.
    pub(crate) fn hand_over(&self, place: ReservedPlace) -> Option<ReservedPlace> {
        self.line().give(place)
    }

    /// Who was granted a place has chosen a server.
    pub(crate) fn served(&self, now: Instant) {
        let now_us = self.micros(now);
        let mut line = self.line();
        let others_wait = line.len() > 0;
        line.departures.departed(now_us, others_wait);
        self.left(&mut line, true);
    }

    /// Gives a place up. Returns whether it had been granted one: then a look at what is free must follow.
    pub(crate) fn leave(&self, spot: &Spot) -> bool {
        let mut line = self.line();
        let was_granted = line.kind(spot.for_room).leave(&spot.ticket).is_none();
        self.left(&mut line, was_granted);
        was_granted
    }

    /// Who was granted a place found none: it waits on where it was. A look at what is free must follow.
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
        // No panic can leave it half done.
        self.line.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn micros(&self, now: Instant) -> u64 {
        now.saturating_duration_since(self.started).as_micros() as u64
    }
}

impl Line {
    /// Calls the one who is next of those who may go. False if there is none.
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

    /// Gives the place to the one who is next. It comes back if there is none.
    fn give(&mut self, place: ReservedPlace) -> Option<ReservedPlace> {
        self.call(false, Grant { place: Some(place), served_before: 0 })?.place
    }

    /// Tells the one who is next of its kind. The grant comes back if there is none.
    fn call(&mut self, for_room: bool, mut grant: Grant) -> Option<Grant> {
        while let Some(Next { who, served_before, .. }) = self.kind(for_room).take_next() {
            self.granted += 1;
            grant.served_before = u32::try_from(served_before).unwrap_or(u32::MAX);
            match who.send(grant) {
                Ok(()) => return None,
                // Who has gone in this moment finds itself out of the queue when it leaves: the place is the next one's.
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
