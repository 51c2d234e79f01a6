//! Events that change servers, and the times at which the balancer notices them.

use weir_config::simulation::{Disturbance, Drain, Group};

use super::ejection::JUDGED_EVERY_NS;
use super::{Blame, Engine, Event};
use crate::flight_id::FlightId;
use crate::waiting::Goal;

impl Engine<'_> {
    pub(super) fn plan_changes(&mut self) {
        if self.scenario.balancer.ejection.is_some() {
            self.schedule(JUDGED_EVERY_NS, Event::Judge);
        }
        if self.scenario.groups.iter().any(|group| group.auto_weight.is_some()) {
            self.weigh_later();
        }
        if self.scenario.balancer.hedge.as_ref().is_some_and(|rule| rule.delay.is_none()) {
            self.measure_answers_later();
        }
        let mut first = 0;
        for group in &self.scenario.groups {
            if group.added.0 > 0 {
                (first..first + group.count)
                    .for_each(|server| self.schedule(group.added.0, Event::Add { server }));
            }
            for (word, said) in group.agent.iter().enumerate() {
                (first..first + said.servers.min(group.count))
                    .for_each(|server| self.schedule(said.at.0, Event::Says { server, word }));
            }
            for (number, disturbance) in group.disturbances.iter().enumerate() {
                let span = disturbance.span();
                let end_ns = span.at.0.saturating_add(span.lasts.0);
                for server in first..first + span.servers.min(group.count) {
                    let (begin, end) = match disturbance {
                        Disturbance::Fail(_) => (Event::Die { server }, Event::Revive { server }),
                        Disturbance::Slow(_) => (
                            Event::Slow { server, slow_down: number },
                            Event::Recover { server, slow_down: number },
                        ),
                        Disturbance::Drain(Drain { is_maintenance, .. }) => (
                            Event::Drain { server, is_maintenance: *is_maintenance },
                            Event::Undrain { server, is_maintenance: *is_maintenance },
                        ),
                    };
                    self.schedule(span.at.0, begin);
                    self.schedule(end_ns, end);
                }
            }
            first += group.count;
        }
    }

    pub(super) fn die(&mut self, server: u32) {
        let health = &mut self.health[server as usize];
        health.failures += 1;
        if health.failures > 1 {
            return;
        }
        health.episode += 1;
        let episode = health.episode;
        while let Some(id) = self.with_queue(server as usize, |server, now_ns| server.lose(now_ns)) {
            self.lose(id, server);
        }
        let notice_ns = self.now_ns.saturating_add(self.scenario.balancer.down_after.0);
        self.schedule(notice_ns, Event::Noticed { server, episode });
        self.serve_all(server);
    }

    /// Handles a request that a dead server lost. If it has another try, that one continues alone.
    fn lose(&mut self, id: FlightId, server: u32) {
        // If another server has answered it, no client waits for this.
        let Some(mut flight) = self.flights.get_mut(id).copied() else { return };
        let (lost, other) = flight.tries(server);
        if other.is_some() {
            self.end_one_of_two(&mut flight, server);
        }
        (flight.at, flight.second) = (other, None);
        if let Some(there) = self.flights.get_mut(id) {
            *there = flight;
        }
        let is_tried_again = other.is_none() && self.scenario.balancer.retries_lost && self.may_retry(id);
        self.pool.end(server as usize, lost, None);
        self.note_failure(server);
        if is_tried_again {
            if let Some(flight) = self.flights.get_mut(id) {
                // The event of its timeout may already have fired.
                (flight.lost_at, flight.is_timed) = (Some(server), false);
            }
            self.send(id);
        } else if other.is_none() {
            self.fail(id, Blame::Servers, |errors| errors.broken += 1);
        }
    }

    pub(super) fn revive(&mut self, server: u32) {
        let health = &mut self.health[server as usize];
        health.failures = health.failures.saturating_sub(1);
        if health.failures > 0 {
            return;
        }
        health.episode += 1;
        let episode = health.episode;
        let notice_ns = self.now_ns.saturating_add(self.scenario.balancer.up_after.0);
        self.schedule(notice_ns, Event::Noticed { server, episode });
    }

    /// Lets the balancer's checks notice that a server has died or come back.
    pub(super) fn notice(&mut self, server: u32, episode: u32) {
        let health = &self.health[server as usize];
        if health.episode != episode {
            return;
        }
        if self.pool.set_up(server as usize, health.failures == 0, self.now_ns) {
            self.waiting.forget_pace();
            self.rise(server);
        }
        self.serve_all(server);
    }

    pub(super) fn add(&mut self, server: u32) {
        self.pool.add(server as usize, self.now_ns);
        self.waiting.forget_pace();
        self.rise(server);
        self.serve_all(server);
    }

    /// Updates the automatic weights.
    pub(super) fn weigh(&mut self) {
        self.pool.judge_weights(&self.scenario.balancer.auto_weight.rule);
        self.weigh_later();
    }

    fn weigh_later(&mut self) {
        let interval_ns = self.scenario.balancer.auto_weight.interval.0.saturating_mul(1_000_000);
        self.schedule(self.now_ns.saturating_add(interval_ns.max(1)), Event::Weigh);
    }

    /// Drains a server for the operator; it finishes its requests.
    pub(super) fn drain(&mut self, server: u32, is_maintenance: bool) {
        self.pool.drain(server as usize, is_maintenance, self.now_ns);
        self.waiting.forget_pace();
        // Requests that wait for it may have to go elsewhere.
        self.serve_all(server);
    }

    /// Puts a server back into rotation for the operator.
    pub(super) fn undrain(&mut self, server: u32, is_maintenance: bool) {
        self.pool.undrain(server as usize, is_maintenance, self.now_ns);
        self.waiting.forget_pace();
        self.rise(server);
        self.serve_all(server);
    }

    /// Raises the weight of a server that came up at `since_ns`, unless it has gone down since.
    pub(super) fn rise_further(&mut self, server: u32, since_ns: u64) {
        if self.pool.up_since_ns(server as usize) == Some(since_ns) {
            self.rise(server);
            self.serve_all(server);
        }
    }

    pub(super) fn rise(&mut self, server: u32) {
        let at_ns = self.pool.rise(server as usize, self.now_ns);
        if let (Some(at_ns), Some(since_ns)) = (at_ns, self.pool.up_since_ns(server as usize)) {
            self.schedule(at_ns, Event::Rise { server, since_ns });
        }
    }

    /// Handles a report of a server's agent.
    pub(super) fn hear(&mut self, server: u32, word: usize) {
        let said = self.group_of(server).and_then(|group| group.agent.get(word));
        let Some(reply) = said.and_then(|said| weir_wire::agent::parse(said.says.as_bytes())) else { return };
        if self.pool.hear(server as usize, &reply, self.now_ns) {
            self.waiting.forget_pace();
            self.rise(server);
        }
        self.serve_all(server);
    }

    fn group_of(&self, server: u32) -> Option<&Group> {
        let mut first = 0;
        self.scenario.groups.iter().find(|group| {
            first += group.count;
            server < first
        })
    }

    pub(super) fn slow(&mut self, server: u32, slow_down: usize) {
        let group = self.group_of(server);
        if let Some(Disturbance::Slow(slow)) =
            group.and_then(|group| group.disturbances.get(slow_down)).copied()
        {
            self.health[server as usize].slow_downs.push((slow_down, slow.speed));
            self.set_speed(server);
        }
    }

    pub(super) fn recover(&mut self, server: u32, slow_down: usize) {
        self.health[server as usize].slow_downs.retain(|(there, _)| *there != slow_down);
        self.set_speed(server);
    }

    fn set_speed(&mut self, server: u32) {
        // Overlapping slow-downs multiply: each one slows the rest.
        let factor = self.health[server as usize].slow_downs.iter().map(|(_, speed)| speed).product();
        self.servers[server as usize].set_slow_down(self.now_ns, factor);
        self.promise(server);
    }

    /// Serves waiting requests; those bound to this server come first.
    pub(super) fn serve_all(&mut self, server: u32) {
        self.serve(Goal::Server(server));
        self.serve(Goal::Any);
    }
}
