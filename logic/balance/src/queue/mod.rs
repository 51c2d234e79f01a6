//! Who is next: the order in which those who wait for a server get one.
//!
//! Pure: knows no server, no clock and no task. Who waits is whatever the caller says; time is microseconds of any
//! steady clock.

mod admission;
mod class;
mod departures;

use std::collections::BTreeMap;

pub use admission::{Admission, RefusalCause};
pub use departures::Departures;

use class::Class;

/// Those who wait in front of one pool, in order: the lowest class first; within a class the clients in turn, each
/// with the one of its own that counts as having come first.
///
/// The ideas are HAProxy's `set-priority-class` and `set-priority-offset`; the turns of clients are a round robin of
/// sub-queues, as in fair queueing (Nagle, RFC 970) with requests in place of packets. Where fairness is not wanted,
/// everyone has the same client.
///
/// Entering, leaving and being next cost O(log n). Memory is proportional to those who wait: nothing is remembered of
/// one who has left.
#[derive(Debug)]
pub struct Queue<T> {
    /// None of them empty.
    classes: BTreeMap<i16, Class>,
    /// By arrival.
    waiting: BTreeMap<u64, (Ticket, T)>,
    arrivals: u64,
    taken: u64,
}

/// What decides about a place in the queue.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Rank {
    /// Whoever has a lower class is served before whoever has a higher one, however long that one waits.
    pub class: i16,
    /// Whose request it is: within a class, everyone's requests are served in turn with everyone else's.
    pub client: u64,
    /// Among the requests of one client, this one counts as having come so much later (negative: earlier).
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

/// One who is next.
#[derive(Debug)]
pub struct Next<T> {
    /// The place it had, for [`Queue::put_back`].
    pub ticket: Ticket,
    /// Who.
    pub who: T,
    /// How many were served while it waited.
    pub served_before: u64,
}

impl<T> Default for Queue<T> {
    fn default() -> Self {
        Self { classes: BTreeMap::new(), waiting: BTreeMap::new(), arrivals: 0, taken: 0 }
    }
}

impl<T> Queue<T> {
    /// Takes a place.
    pub fn enter(&mut self, rank: Rank, now_us: u64, who: T) -> Ticket {
        let ticket = Ticket { rank, arrival: self.arrivals, entered_us: now_us, taken_before: self.taken };
        self.arrivals += 1;
        self.classes.entry(rank.class).or_default().insert(&ticket, false);
        self.waiting.insert(ticket.arrival, (ticket, who));
        ticket
    }

    /// Takes out the one who is to be served next.
    pub fn take_next(&mut self) -> Option<Next<T>> {
        let mut class = self.classes.first_entry()?;
        let arrival = class.get_mut().pop();
        if class.get().is_empty() {
            class.remove();
        }
        let (ticket, who) = self.waiting.remove(&arrival?)?;
        // Less than nothing if one was taken out before this one came, and was put back since.
        let served_before = self.taken.saturating_sub(ticket.taken_before);
        self.taken += 1;
        Some(Next { ticket, who, served_before })
    }

    /// What the one stands for who is next: its class, and when it counts as having come, in microseconds. Of two queues
    /// the one with the lesser goes first.
    pub fn first(&self) -> Option<(i16, i128)> {
        let (class, clients) = self.classes.first_key_value()?;
        Some((*class, clients.first_due_us()?))
    }

    /// The one who has been taken out could not be served after all: it gets its place back, before all others of its
    /// client, and its client gets its turn back.
    pub fn put_back(&mut self, ticket: Ticket, who: T) {
        self.taken = self.taken.saturating_sub(1).max(ticket.taken_before);
        self.classes.entry(ticket.rank.class).or_default().insert(&ticket, true);
        self.waiting.insert(ticket.arrival, (ticket, who));
    }

    /// Gives a place up. `None` = it had been taken out, or given up, before.
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

    /// How many wait.
    pub fn len(&self) -> usize {
        self.waiting.len()
    }

    /// Whether nobody waits.
    pub fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// How many would be served before one who entered with this rank now, if nobody came after it. Offsets are not
    /// looked at, and of the clients whose turn may come earlier or later in the last round all are counted.
    pub fn ahead_of(&self, rank: &Rank) -> usize {
        let better = self.classes.range(..rank.class).map(|(_, class)| class.len()).sum::<usize>();
        better + self.classes.get(&rank.class).map_or(0, |class| class.ahead_of(rank.client))
    }

    /// How long the one has been waiting who waits longest.
    pub fn longest_wait_us(&self, now_us: u64) -> Option<u64> {
        let (_, (ticket, _)) = self.waiting.first_key_value()?;
        Some(now_us.saturating_sub(ticket.entered_us))
    }
}

impl Ticket {
    /// When it counts as having come, in microseconds: what comes first of one client's.
    fn due_us(&self) -> i128 {
        i128::from(self.entered_us) + i128::from(self.rank.offset_ms) * 1_000
    }
}
