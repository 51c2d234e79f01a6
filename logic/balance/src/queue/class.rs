//! The requests of one class, ordered by client.

use std::collections::{BTreeMap, BTreeSet};

use super::Ticket;

/// Requests of one class. Each client has its own line, and the lines take turns.
#[derive(Debug, Default)]
pub(super) struct Class {
    /// Lines by client; none is empty.
    lines: BTreeMap<u64, Line>,
    /// Clients by the turn of their line.
    turns: BTreeMap<i64, u64>,
    /// For each index, the number of lines that are longer than it. The last number is not zero.
    longer_than: Vec<usize>,
    length: usize,
}

/// The line of one client.
#[derive(Debug)]
struct Line {
    turn: i64,
    /// Waiting requests: the time at which each counts as having arrived, then its arrival number.
    waiting: BTreeSet<(i128, u64)>,
}

/// Longest line for which rounds are counted one by one. A client with more waiting requests is behind nearly
/// all others.
const ROUNDS_MAX: usize = 64;

impl Class {
    pub(super) fn len(&self) -> usize {
        self.length
    }

    pub(super) fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// Inserts a request. With `first`, the client's turn comes before all others.
    pub(super) fn insert(&mut self, ticket: &Ticket, first: bool) {
        let client = ticket.rank.client;
        let turn = if first { self.turn_before_all() } else { self.turn_after_all() };
        let line = self.lines.entry(client).or_insert_with(|| {
            self.turns.insert(turn, client);
            Line { turn, waiting: BTreeSet::new() }
        });
        if first && line.turn != turn {
            self.turns.remove(&line.turn);
            self.turns.insert(turn, client);
            line.turn = turn;
        }
        let length = line.waiting.len();
        line.waiting.insert((ticket.due_us(), ticket.arrival));
        self.grew(length);
    }

    /// Removes and returns the first request of the client whose turn it is. That client's next turn comes
    /// after all others.
    pub(super) fn pop(&mut self) -> Option<u64> {
        let (turn, client) = self.turns.pop_first()?;
        let line = self.lines.get_mut(&client)?;
        let (_, arrival) = line.waiting.pop_first()?;
        let left = line.waiting.len();
        if left == 0 {
            self.lines.remove(&client);
        } else {
            // Includes the turn that was just removed, so that a single client's turns increase as well.
            line.turn = self.turns.last_key_value().map_or(turn, |(last, _)| *last) + 1;
            self.turns.insert(line.turn, client);
        }
        self.shrank(left);
        Some(arrival)
    }

    /// Returns the time at which the next request for [`Class::pop`] counts as having arrived.
    pub(super) fn first_due_us(&self) -> Option<i128> {
        let (_, client) = self.turns.first_key_value()?;
        self.lines.get(client)?.waiting.first().map(|(due_us, _)| *due_us)
    }

    pub(super) fn remove(&mut self, ticket: &Ticket) {
        let client = ticket.rank.client;
        let Some(line) = self.lines.get_mut(&client) else { return };
        if !line.waiting.remove(&(ticket.due_us(), ticket.arrival)) {
            return;
        }
        let left = line.waiting.len();
        if left == 0 {
            self.turns.remove(&line.turn);
            self.lines.remove(&client);
        }
        self.shrank(left);
    }

    /// Returns the number of requests served before the next one of `client`.
    pub(super) fn ahead_of(&self, client: u64) -> usize {
        let own = self.lines.get(&client).map_or(0, |line| line.waiting.len());
        if own > ROUNDS_MAX {
            return self.length;
        }
        // In each round, every client whose line is long enough is served once.
        self.longer_than.iter().take(own + 1).sum()
    }

    fn turn_after_all(&self) -> i64 {
        self.turns.last_key_value().map_or(0, |(last, _)| last + 1)
    }

    fn turn_before_all(&self) -> i64 {
        self.turns.first_key_value().map_or(0, |(first, _)| first - 1)
    }

    /// Counts that a line of length `from` has become one longer.
    fn grew(&mut self, from: usize) {
        self.length += 1;
        match self.longer_than.get_mut(from) {
            Some(lines) => *lines += 1,
            None => self.longer_than.push(1),
        }
    }

    /// Counts that a line has become one shorter and now has length `to`.
    fn shrank(&mut self, to: usize) {
        self.length -= 1;
        if let Some(lines) = self.longer_than.get_mut(to) {
            *lines -= 1;
        }
        self.longer_than.pop_if(|lines| *lines == 0);
    }
}
