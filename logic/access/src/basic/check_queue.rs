//! A fair queue of password checks.

use std::collections::{BTreeMap, VecDeque};
use std::net::IpAddr;

use weir_model::client_network;

/// Password checks that wait for a thread. The queue serves clients round-robin, so that a client with many
/// checks delays only its own.
///
/// Clients that have presented a right password before wait in one lane, unknown clients in another. The
/// queue serves the lanes alternately, so a flood from many unknown addresses delays each check of a known
/// client by one check. A lane with free space does not limit any client. In a full lane, the client with the
/// most checks loses its newest one.
#[derive(Debug)]
pub struct CheckQueue<T> {
    known: Lane<T>,
    strangers: Lane<T>,
    /// True if the lane of known clients is served next.
    is_known_next: bool,
}

#[derive(Debug)]
struct Lane<T> {
    by_client: BTreeMap<IpAddr, VecDeque<T>>,
    /// Clients with waiting checks, in the order of service.
    turns: VecDeque<IpAddr>,
    len: usize,
    len_max: usize,
}

impl<T> CheckQueue<T> {
    /// Creates a queue with space for `lane_max` checks in each lane.
    pub fn new(lane_max: usize) -> Self {
        let lane = || Lane { by_client: BTreeMap::new(), turns: VecDeque::new(), len: 0, len_max: lane_max };
        Self { known: lane(), strangers: lane(), is_known_next: true }
    }

    /// Adds a check of a client. Returns the check for which there is no space: this one, or an older one of
    /// another client.
    #[must_use]
    pub fn push(&mut self, client: IpAddr, is_known: bool, check: T) -> Option<T> {
        let lane = if is_known { &mut self.known } else { &mut self.strangers };
        lane.push(client_network(client), check)
    }

    /// Removes and returns the next check.
    pub fn pop(&mut self) -> Option<T> {
        let (first, second) = match self.is_known_next {
            true => (&mut self.known, &mut self.strangers),
            false => (&mut self.strangers, &mut self.known),
        };
        self.is_known_next = !self.is_known_next;
        first.pop().or_else(|| second.pop())
    }

    /// Returns the number of waiting checks.
    pub fn len(&self) -> usize {
        self.known.len + self.strangers.len
    }

    /// Returns true if no check waits.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl<T> Lane<T> {
    fn push(&mut self, client: IpAddr, check: T) -> Option<T> {
        let mut without_room = None;
        if self.len >= self.len_max {
            let own = self.by_client.get(&client).map_or(0, VecDeque::len);
            let most = self.by_client.iter().max_by_key(|(_, checks)| checks.len());
            let Some((most, checks)) = most else { return Some(check) };
            // With this check, the client would have at least as many checks as the other.
            if checks.len() <= own + 1 {
                return Some(check);
            }
            let most = *most;
            without_room = self.by_client.get_mut(&most).and_then(VecDeque::pop_back);
            self.len -= 1;
        }
        let checks = self.by_client.entry(client).or_default();
        if checks.is_empty() {
            self.turns.push_back(client);
        }
        checks.push_back(check);
        self.len += 1;
        without_room
    }

    fn pop(&mut self) -> Option<T> {
        let client = self.turns.pop_front()?;
        let checks = self.by_client.get_mut(&client)?;
        let check = checks.pop_front();
        if checks.is_empty() {
            self.by_client.remove(&client);
        } else {
            self.turns.push_back(client);
        }
        self.len -= usize::from(check.is_some());
        check
    }
}
