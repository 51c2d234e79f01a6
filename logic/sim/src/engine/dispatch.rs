//! Dispatch of a request: to a server, into a queue, or to a failure.

use weir_balance::{Pick, Rank, RefusalCause, Standing};
use weir_config::plan::{WhenBusy, WhenGone};
use weir_config::simulation::Scenario;

use super::{Blame, Engine, Event};
use crate::client::client_key;
use crate::flight_id::FlightId;
use crate::in_flight::{Flight, Try};
use crate::waiting::{Goal, Terms};
use crate::workload::Request;

/// Result of dispatching a request.
enum Fate {
    /// The request is at a server, or it has failed.
    Settled,
    /// The request must wait.
    Waits(Goal),
}

/// Destination of one try of a request.
enum Choice {
    /// This server, which has already counted it.
    Server(usize),
    Wait(Goal),
    Nobody,
}

impl Engine<'_> {
    pub(super) fn arrive(&mut self, request: &Request) {
        let is_measured = self.arrived >= self.scenario.warm_up;
        if is_measured && !self.queue.is_measured {
            self.open_window();
        }
        self.arrived += 1;
        self.run.measured += u64::from(is_measured);
        self.note_priority(request.priority, is_measured, |of| of.measured += 1);
        let worker = self.worker_rng.below(self.scenario.balancer.workers.into()) as u32;
        let Some(probe) = self.admit() else {
            self.run.errors.breaker += u64::from(is_measured);
            self.note_priority(request.priority, is_measured, |of| of.failed += 1);
            return;
        };
        let bonds = self.bonds.as_ref();
        let wanted = bonds.and_then(|bonds| bonds.find(client_key(request.client), self.now_ns));
        let id = self.flights.add(Flight {
            arrived_ns: self.now_ns,
            work_ns: request.work_ns,
            class: request.class,
            bytes: request.bytes,
            client: request.client,
            uri: request.uri,
            value: request.value,
            priority: request.priority,
            worker,
            is_measured,
            at: None,
            second: None,
            sent_ns: 0,
            retries: 0,
            is_retried: false,
            lost_at: None,
            wanted,
            spot: None,
            is_timed: false,
            probe,
        });
        self.send(id);
    }

    /// Sends a request that has not waited to a server, or puts it into a queue.
    pub(super) fn send(&mut self, id: FlightId) {
        if let Fate::Waits(goal) = self.dispatch(id, None) {
            self.wait(id, goal);
        }
    }

    /// Sends a request to a server or fails it, unless it must wait. `called` is the queue in which it has
    /// waited, if its turn has come.
    fn dispatch(&mut self, id: FlightId, called: Option<Goal>) -> Fate {
        let Some(flight) = self.flights.get_mut(id).copied() else { return Fate::Settled };
        let mut wanted = flight.wanted;
        self.tried.clear();
        loop {
            let slot = match self.choose(&flight, &mut wanted, called) {
                Choice::Wait(goal) if self.tried.is_empty() => {
                    if let Some(flight) = self.flights.get_mut(id) {
                        // A request that went elsewhere once does not return to its server.
                        flight.wanted = wanted;
                    }
                    return Fate::Waits(goal);
                }
                Choice::Wait(_) | Choice::Nobody => break,
                Choice::Server(slot) => slot,
            };
            if self.health[slot].failures == 0 {
                self.give(id, &flight, slot);
                return Fate::Settled;
            }
            let may_retry = self.may_retry(id);
            self.pool.end(slot, None, None);
            self.note_failure(slot as u32);
            if let (true, Some(lost)) = (self.tried.is_empty(), flight.lost_at) {
                self.tried.push(lost as usize);
            }
            self.tried.push(slot);
            if !may_retry {
                break;
            }
        }
        let blame =
            if self.tried.is_empty() && flight.lost_at.is_none() { Blame::Nobody } else { Blame::Servers };
        self.fail(id, blame, |errors| errors.refused += 1);
        Fate::Settled
    }

    /// Chooses the destination of the next try. `wanted` is the server that the request is bound to; it is
    /// cleared when the request may leave that server.
    fn choose(&mut self, flight: &Flight, wanted: &mut Option<u32>, called: Option<Goal>) -> Choice {
        if !self.pool.has_room() {
            return Choice::Wait(Goal::Any);
        }
        if let (Some(server), Some(rules)) = (*wanted, &self.scenario.balancer.sticky) {
            match self.claim(server, called, flight.lost_at) {
                Standing::Open => return Choice::Server(server as usize),
                // A request bound to one server is rejected when that server's queue is full.
                Standing::Busy
                    if rules.when_busy == WhenBusy::Wait
                        && (rules.when_gone == WhenGone::Fail || self.may_wait_for(server, called)) =>
                {
                    return Choice::Wait(Goal::Server(server));
                }
                Standing::Gone if rules.when_gone == WhenGone::Fail => return Choice::Nobody,
                Standing::Busy | Standing::Gone => *wanted = None,
            }
        }
        let lost_at = flight.lost_at.map(|server| server as usize);
        let exclude = if self.tried.is_empty() { lost_at.as_slice() } else { self.tried.as_slice() };
        let mut own = self.pool.awaited_server(flight, exclude);
        let mut diverted = Vec::new();
        if let Some(slot) = own.filter(|slot| !self.may_wait_for(*slot as u32, called)) {
            // Chooses another server, as if this one had failed the request. The kernel's hashes have no
            // other.
            diverted.extend(exclude.iter().copied().chain([slot]));
            own = self.pool.awaited_server(flight, &diverted);
        }
        let exclude = if diverted.is_empty() { exclude } else { diverted.as_slice() };
        let own = own.map_or(Goal::Any, |slot| Goal::Server(slot as u32));
        // A request must not overtake those that wait.
        let is_called = called == Some(own) || !self.tried.is_empty();
        for line in [Goal::Any, own] {
            if !is_called && called != Some(line) && !self.waiting.is_empty(line) {
                return Choice::Wait(line);
            }
        }
        let choice = match diverted.is_empty() {
            true => self.pool.choose_after(flight, self.now_ns, exclude),
            false => self.pool.choose(flight, self.now_ns, exclude),
        };
        match choice {
            Pick::Server(slot) => Choice::Server(slot),
            Pick::Busy => Choice::Wait(own),
            Pick::Nobody => Choice::Nobody,
        }
    }

    /// Returns true if a request may wait for this server. If its queue is full, only a request that was
    /// already in it may.
    fn may_wait_for(&self, server: u32, called: Option<Goal>) -> bool {
        let (own, max) = (Goal::Server(server), self.scenario.balancer.server_queue_max);
        called == Some(own) || max.is_none_or(|max| self.waiting.length(own) < max as usize)
    }

    /// Counts a request at the server that it is bound to, if that server takes it.
    fn claim(&mut self, server: u32, called: Option<Goal>, lost_at: Option<u32>) -> Standing {
        let (slot, own) = (server as usize, Goal::Server(server));
        if self.tried.contains(&slot) || lost_at == Some(server) {
            return Standing::Gone;
        }
        if called != Some(own) && !self.waiting.is_empty(own) {
            return Standing::Busy;
        }
        self.pool.claim(slot)
    }

    fn give(&mut self, id: FlightId, flight: &Flight, slot: usize) {
        let client = client_key(flight.client);
        if let Some(bonds) = &self.bonds {
            bonds.bind(client, slot as u32, self.now_ns);
        }
        if flight.is_measured {
            let (pool, is_bound) = (&self.pool, self.bonds.is_some());
            // A bound client leaves its server only if it must.
            self.sticky.sent(client, slot as u32, |server| is_bound || pool.could_take(server as usize));
        }
        let first = self.begin_try(id, flight, slot);
        let sent_ns = if flight.lost_at.is_some() { flight.sent_ns } else { self.now_ns };
        if let Some(flight) = self.flights.get_mut(id) {
            (flight.at, flight.spot, flight.sent_ns) = (Some(first), None, sent_ns);
        }
        self.hedge_later(id);
    }

    /// Starts a request on a server that has already counted it.
    pub(super) fn begin_try(&mut self, id: FlightId, flight: &Flight, slot: usize) -> Try {
        let (hit, work_ns) = self.servers[slot].look_up(flight.class, flight.uri, flight.work_ns);
        if let (Some(hit), Some((hits, lookups)), true) = (hit, &mut self.run.cache, flight.is_measured) {
            *hits += u64::from(hit);
            *lookups += 1;
        }
        let stay = self.pool.stay(slot, flight.class, self.now_ns);
        self.with_queue(slot, |server, now_ns| server.take(now_ns, id, work_ns));
        self.promise(slot as u32);
        Try { server: slot as u32, stay }
    }

    fn wait(&mut self, id: FlightId, goal: Goal) {
        let Scenario { balancer, priorities, .. } = self.scenario;
        if balancer.queue.0 == 0 {
            self.fail(id, Blame::Nobody, |errors| errors.timed_out += 1);
            return;
        }
        let now_us = self.now_us();
        // The other requests went elsewhere when they found the queue full.
        let client_has_no_other =
            balancer.sticky.as_ref().is_some_and(|rules| rules.when_gone == WhenGone::Fail);
        let has_no_other = client_has_no_other || self.pool.keeps_to_one_server();
        let server_length_max = balancer.server_queue_max.filter(|_| has_no_other);
        let Some(flight) = self.flights.get_mut(id) else { return };
        // A retried request may have been in the system for longer.
        let until_ns = flight.arrived_ns.saturating_add(balancer.queue.0).max(self.now_ns);
        let client = if balancer.is_fair { client_key(flight.client) } else { 0 };
        let priority = flight.priority.checked_sub(1).and_then(|at| priorities.get(at as usize));
        let (class, offset_ms) = priority.map_or((0, 0), |part| (part.class, part.offset_ms));
        let terms = Terms {
            rank: Rank { class, client, offset_ms },
            length_max: balancer.queue_length_max.unwrap_or(u32::MAX),
            server_length_max: server_length_max.unwrap_or(u32::MAX),
            patience_us: until_ns.saturating_sub(self.now_ns) / 1_000,
        };
        match self.waiting.enter(goal, &terms, now_us, id) {
            Ok(spot) => {
                flight.spot = Some(spot);
                let was_timed = std::mem::replace(&mut flight.is_timed, true);
                self.change_queue(1);
                if !was_timed {
                    self.schedule(until_ns, Event::OutOfPatience { flight: id });
                }
            }
            Err(RefusalCause::Full) => self.fail(id, Blame::Nobody, |errors| errors.queue_full += 1),
            Err(RefusalCause::Hopeless) => self.fail(id, Blame::Nobody, |errors| errors.hopeless += 1),
        }
    }

    /// Sends requests that wait for `goal` to servers that have room now.
    pub(super) fn serve(&mut self, goal: Goal) {
        while let Some(next) = self.waiting.take_next(goal) {
            match self.dispatch(next.who, Some(goal)) {
                Fate::Settled => {
                    let now_us = self.now_us();
                    self.waiting.served(goal, now_us);
                    self.change_queue(-1);
                }
                Fate::Waits(still) if still == goal => {
                    self.waiting.put_back(goal, next);
                    return;
                }
                // Its server is gone, or the server that it is bound to is busy.
                Fate::Waits(other) => {
                    self.waiting.left(goal);
                    self.change_queue(-1);
                    self.wait(next.who, other);
                }
            }
        }
    }

    /// Fails a request whose waiting time is over, if it still waits.
    pub(super) fn give_up(&mut self, id: FlightId) {
        let Some(spot) = self.flights.get_mut(id).and_then(|flight| flight.spot.take()) else { return };
        if self.waiting.leave(&spot) {
            self.change_queue(-1);
            self.fail(id, Blame::Nobody, |errors| errors.timed_out += 1);
        }
    }

    fn now_us(&self) -> u64 {
        self.now_ns / 1_000
    }
}
