//! The queue of a pool: the order in which waiting requests get a server.
//!
//! This module is pure: it knows no server, no clock and no task. The caller decides the type of the waiting
//! entries; times are microseconds of any steady clock.

mod admission;
mod class;
mod departures;

use std::collections::BTreeMap;

pub use admission::{Admission, RefusalCause};
pub use departures::Departures;

use class::Class;

/// The requests that wait for one pool, in order: the lowest class first. Within a class, clients take turns,
/// each with its own request that counts as having arrived first.
///
/// The ideas are HAProxy's `set-priority-class` and `set-priority-offset`. The turns of clients are a round
/// robin of sub-queues as in fair queueing (Nagle, RFC 970), with requests in place of packets. Without
/// fairness, all requests have the same client.
///
/// Entering, leaving and taking the next cost O(log n). Memory is proportional to the waiting requests;
/// nothing is kept about a request that has left.
#[derive(Debug)]
pub struct Queue<T> {
    /// Classes by number; none is empty.
    classes: BTreeMap<i16, Class>,
    /// Waiting requests by arrival number.
    waiting: BTreeMap<u64, (Ticket, T)>,
    arrivals: u64,
    taken: u64,
}

/// Data that determines a request's place in the queue.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Rank {
    /// Priority class. A request with a lower class is served before one with a higher class, however long
    /// that one waits.
    pub class: i16,
    /// Client of the request. Within a class, the clients take turns.
    pub client: u64,
    /// Amount by which the request counts as having arrived later (negative: earlier) among the requests of
    /// its client.
    pub offset_ms: i32,
}

/// A place in the queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ticket {
    rank: Rank,
    arrival: u64,
    entered_us: u64,
    taken_before: u64,
}

/// The entry to serve next.
#[derive(Debug)]
pub struct Next<T> {
    /// Place that it had, for [`Queue::put_back`].
    pub ticket: Ticket,
    /// The waiting entry itself.
    pub who: T,
    /// Number of requests served while it waited.
    pub served_before: u64,
}

impl<T> Default for Queue<T> {
    fn default() -> Self {
        Self { classes: BTreeMap::new(), waiting: BTreeMap::new(), arrivals: 0, taken: 0 }
    }
}

impl<T> Queue<T> {
    /// Adds an entry and returns its place.
    pub fn enter(&mut self, rank: Rank, now_us: u64, who: T) -> Ticket {
        let ticket = Ticket { rank, arrival: self.arrivals, entered_us: now_us, taken_before: self.taken };
        self.arrivals += 1;
        self.classes.entry(rank.class).or_default().insert(&ticket, false);
        self.waiting.insert(ticket.arrival, (ticket, who));
        ticket
    }

    /// Removes and returns the entry to serve next.
    pub fn take_next(&mut self) -> Option<Next<T>> {
        let mut class = self.classes.first_entry()?;
        let arrival = class.get_mut().pop();
        if class.get().is_empty() {
            class.remove();
        }
        let (ticket, who) = self.waiting.remove(&arrival?)?;
        // The difference would be negative if an entry was taken before this one arrived and was put back
        // since.
        let served_before = self.taken.saturating_sub(ticket.taken_before);
        self.taken += 1;
        Some(Next { ticket, who, served_before })
    }

    /// Returns the class of the next entry and the time at which it counts as having arrived, in
    /// microseconds. Of two queues, the one with the lesser value goes first.
    pub fn first(&self) -> Option<(i16, i128)> {
        let (class, clients) = self.classes.first_key_value()?;
        Some((*class, clients.first_due_us()?))
    }

    /// Puts back an entry that was taken but could not be served. It comes before all others of its client,
    /// and its client gets its turn back.
    pub fn put_back(&mut self, ticket: Ticket, who: T) {
        self.taken = self.taken.saturating_sub(1).max(ticket.taken_before);
        self.classes.entry(ticket.rank.class).or_default().insert(&ticket, true);
        self.waiting.insert(ticket.arrival, (ticket, who));
    }

    /// Removes an entry. `None` = it had already been taken or removed.
    pub fn leave(&mut self, ticket: &Ticket) -> Option<T> {
        let (_, who) = self.waiting.remove(&ticket.arrival)?;
        if let Some(class) = self.classes.get_mut(&ticket.rank.class) {
            class.remove(ticket);
            if class.is_empty() {
                self.classes.remove(&ticket.rank.class);
            }
        }
        Some(who)
    }

    /// Returns the number of waiting entries.
    pub fn len(&self) -> usize {
        self.waiting.len()
    }

    /// Returns true if no entry waits.
    pub fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Returns the number of entries served before one that entered with this rank now, if none came after
    /// it.
    ///
    /// It ignores offsets. In the last round it counts all clients, although the turn of some may come later.
    pub fn ahead_of(&self, rank: &Rank) -> usize {
        let better = self.classes.range(..rank.class).map(|(_, class)| class.len()).sum::<usize>();
        better + self.classes.get(&rank.class).map_or(0, |class| class.ahead_of(rank.client))
    }

    /// Returns the longest time for which an entry has been waiting.
    pub fn longest_wait_us(&self, now_us: u64) -> Option<u64> {
        let (_, (ticket, _)) = self.waiting.first_key_value()?;
        Some(now_us.saturating_sub(ticket.entered_us))
    }
}

impl Ticket {
    /// Returns the time at which it counts as having arrived, in microseconds, which orders the requests of
    /// one client.
    fn due_us(&self) -> i128 {
        i128::from(self.entered_us) + i128::from(self.rank.offset_ms) * 1_000
    }
}
