//! The queues of the balancer.

use weir_balance::{Admission, Departures, Next, Queue, Rank, RefusalCause, Ticket};

use crate::flight_id::FlightId;

/// Requests that wait in the balancer, as in the proxy: for any server, or for the one that they are bound
/// to. Each queue has its own order and its own pace.
#[derive(Debug, Default)]
pub(crate) struct Waiting {
    any: Line,
    /// Queues by server, up to the highest server that a request has waited for.
    bound: Vec<Line>,
    length: usize,
}

/// Resource that a request waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Goal {
    /// Any server, or room in the pool.
    Any,
    /// A place at this server.
    Server(u32),
}

/// Place in one of the queues.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Spot {
    goal: Goal,
    ticket: Ticket,
}

/// Conditions of a wait.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Terms {
    pub(crate) rank: Rank,
    /// Most requests that may wait in all queues together.
    pub(crate) length_max: u32,
    /// Most requests that may wait in the queue of one server.
    pub(crate) server_length_max: u32,
    pub(crate) patience_us: u64,
}

#[derive(Debug, Default)]
struct Line {
    queue: Queue<FlightId>,
    departures: Departures,
}

impl Waiting {
    /// Returns true if no request waits for `goal`.
    pub(crate) fn is_empty(&self, goal: Goal) -> bool {
        self.length(goal) == 0
    }

    /// Returns the number of requests that wait for `goal`.
    pub(crate) fn length(&self, goal: Goal) -> usize {
        match goal {
            Goal::Any => self.any.queue.len(),
            Goal::Server(server) => self.bound.get(server as usize).map_or(0, |line| line.queue.len()),
        }
    }

    /// Adds a request to a queue, if it may wait.
    pub(crate) fn enter(
        &mut self,
        goal: Goal,
        terms: &Terms,
        now_us: u64,
        who: FlightId,
    ) -> Result<Spot, RefusalCause> {
        let in_all = self.length;
        let line = self.line(goal);
        let length = line.queue.len();
        // The limit applies to all queues together; the pace is that of this queue.
        let elsewhere = u32::try_from(in_all - length).unwrap_or(u32::MAX);
        let own_max = if goal == Goal::Any { u32::MAX } else { terms.server_length_max };
        let admission = Admission {
            length,
            length_max: terms.length_max.saturating_sub(elsewhere).min(own_max),
            wait_us: line.departures.wait_us(line.queue.ahead_of(&terms.rank), now_us),
            patience_us: terms.patience_us,
        };
        admission.decide()?;
        let ticket = line.queue.enter(terms.rank, now_us, who);
        self.length += 1;
        Ok(Spot { goal, ticket })
    }

    /// Removes and returns the next request.
    pub(crate) fn take_next(&mut self, goal: Goal) -> Option<Next<FlightId>> {
        if self.is_empty(goal) {
            return None;
        }
        let next = self.line(goal).queue.take_next()?;
        self.length -= 1;
        Some(next)
    }

    /// Puts back a request that was taken but got nothing; it keeps its place.
    pub(crate) fn put_back(&mut self, goal: Goal, next: Next<FlightId>) {
        self.line(goal).queue.put_back(next.ticket, next.who);
        self.length += 1;
    }

    /// Records that a request that was taken got what it waited for.
    pub(crate) fn served(&mut self, goal: Goal, now_us: u64) {
        let line = self.line(goal);
        let others_wait = !line.queue.is_empty();
        line.departures.departed(now_us, others_wait);
        self.left(goal);
    }

    /// Records that a request that was taken left without it.
    pub(crate) fn left(&mut self, goal: Goal) {
        let line = self.line(goal);
        if line.queue.is_empty() {
            line.departures.emptied();
        }
    }

    /// Removes a waiting request. Returns false if it had already been taken or removed.
    pub(crate) fn leave(&mut self, spot: &Spot) -> bool {
        if self.line(spot.goal).queue.leave(&spot.ticket).is_none() {
            return false;
        }
        self.length -= 1;
        self.left(spot.goal);
        true
    }

    /// Resets the pace after servers were added or removed.
    pub(crate) fn forget_pace(&mut self) {
        self.any.departures.forget();
    }

    fn line(&mut self, goal: Goal) -> &mut Line {
        let Goal::Server(server) = goal else { return &mut self.any };
        let index = server as usize;
        if self.bound.len() <= index {
            self.bound.resize_with(index + 1, Line::default);
        }
        &mut self.bound[index]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::in_flight::{Flights, testing::flight};

    const TERMS: Terms = Terms {
        rank: Rank { class: 0, client: 0, offset_ms: 0 },
        length_max: 3,
        server_length_max: 2,
        patience_us: 10_000,
    };

    #[test]
    fn all_lines_together_are_no_longer_than_they_may_be() {
        let (mut waiting, mut flights) = (Waiting::default(), Flights::default());
        let mut enter = |goal| waiting.enter(goal, &TERMS, 0, flights.add(flight())).err();
        assert_eq!([enter(Goal::Any), enter(Goal::Server(7)), enter(Goal::Server(2))], [None; 3]);
        assert_eq!(enter(Goal::Any), Some(RefusalCause::Full));
        assert_eq!(enter(Goal::Server(7)), Some(RefusalCause::Full));
    }

    #[test]
    fn no_server_has_a_longer_line_than_it_may() {
        let (mut waiting, mut flights) = (Waiting::default(), Flights::default());
        let terms = Terms { length_max: 100, ..TERMS };
        let mut enter = |goal| waiting.enter(goal, &terms, 0, flights.add(flight())).err();
        assert_eq!([enter(Goal::Server(7)), enter(Goal::Server(7)), enter(Goal::Server(2))], [None; 3]);
        assert_eq!(enter(Goal::Server(7)), Some(RefusalCause::Full));
        assert_eq!([enter(Goal::Any), enter(Goal::Any), enter(Goal::Any)], [None; 3]);
        assert_eq!(waiting.length(Goal::Server(7)), 2);
    }

    #[test]
    fn who_would_wait_in_vain_is_turned_away_by_the_pace_of_its_own_line() {
        let (mut waiting, mut flights) = (Waiting::default(), Flights::default());
        let terms = Terms { length_max: u32::MAX, ..TERMS };
        for round in 0..12 {
            let now_us = round * 6_000;
            for _ in 0..2 {
                waiting
                    .enter(
                        Goal::Any,
                        &Terms { patience_us: u64::MAX, ..terms },
                        now_us,
                        flights.add(flight()),
                    )
                    .unwrap();
            }
            waiting.take_next(Goal::Any).unwrap();
            waiting.served(Goal::Any, now_us);
        }
        // A dozen requests are ahead, 6 ms each.
        assert_eq!(
            waiting.enter(Goal::Any, &terms, 66_000, flights.add(flight())).err(),
            Some(RefusalCause::Hopeless)
        );
        assert!(waiting.enter(Goal::Server(1), &terms, 66_000, flights.add(flight())).is_ok());
        waiting.forget_pace();
        assert!(waiting.enter(Goal::Any, &terms, 66_000, flights.add(flight())).is_ok());
    }

    #[test]
    fn clients_get_their_turns_and_who_is_put_back_keeps_its_own() {
        let (mut waiting, mut flights) = (Waiting::default(), Flights::default());
        let ids: Vec<FlightId> = (0..3).map(|_| flights.add(flight())).collect();
        for (id, client) in ids.iter().zip([1, 1, 2]) {
            let terms = Terms { rank: Rank { client, ..TERMS.rank }, ..TERMS };
            waiting.enter(Goal::Any, &terms, 0, *id).unwrap();
        }
        let first = waiting.take_next(Goal::Any).unwrap();
        assert_eq!(first.who, ids[0]);
        waiting.put_back(Goal::Any, first);
        let order: Vec<FlightId> =
            std::iter::from_fn(|| waiting.take_next(Goal::Any)).map(|next| next.who).collect();
        assert_eq!(order, [ids[0], ids[2], ids[1]]);
        assert!(waiting.is_empty(Goal::Any));
    }
}
