//! The discrete-event engine: one run of a scenario, event by event in order of time.

mod breaker;
mod changes;
mod dispatch;
mod ejection;
mod gauge;
mod hedge;
mod retry;
#[cfg(test)]
mod tests;

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io::BufRead;

use weir_balance::Algorithm;
use weir_config::simulation::Scenario;
use weir_http::RetryBudget;

use crate::bonds::Bonds;
use crate::crowd::Crowd;
use crate::flight_id::FlightId;
use crate::in_flight::{Flight, Flights};
use crate::pool::{Answer, Pool};
use crate::replay::LogError;
use crate::rng::{Rng, Stream};
use crate::run::{PriorityRun, Run};
use crate::server::Server;
use crate::sticky::Sticky;
use crate::waiting::Waiting;
use crate::workload::Workload;
use breaker::PoolBreaker;
use ejection::Traffic;
use gauge::Gauge;
use hedge::Hedging;

/// Plays `scenario` with one algorithm. `log` is the text to replay, if the scenario replays one. Calls
/// `progress` now and then with the number of requests so far.
///
/// # Errors
/// If the log cannot be read, or one of its lines is invalid.
pub fn run(
    scenario: &Scenario,
    algorithm: Algorithm,
    seed: u64,
    log: Option<&mut dyn BufRead>,
    progress: &mut dyn FnMut(u64),
) -> Result<Run, LogError> {
    let mut workload = Workload::new(scenario, seed, log)?;
    let mut engine = Engine::new(scenario, algorithm, seed);
    let limit = scenario.requests.unwrap_or(u64::MAX);
    let mut upcoming = workload.next()?;
    while let Some(request) = upcoming {
        engine.pass_until(request.at_ns);
        engine.arrive(&request);
        upcoming = if engine.arrived < limit { workload.next()? } else { None };
        if engine.arrived.is_multiple_of(PROGRESS_EVERY) {
            progress(engine.arrived);
        }
    }
    engine.close_window();
    engine.pass_rest();
    progress(engine.arrived);
    engine.run.skipped = workload.skipped();
    Ok(engine.into_run())
}

const PROGRESS_EVERY: u64 = 1 << 14;

struct Engine<'s> {
    scenario: &'s Scenario,
    pool: Pool,
    servers: Vec<Server>,
    health: Vec<Health>,
    /// Request results of each server if the scenario ejects servers; else empty.
    traffic: Vec<Traffic>,
    breaker: PoolBreaker,
    /// Budget of retries, if there is one.
    budget: Option<RetryBudget>,
    /// Number of retries in progress.
    retrying: u32,
    /// State of second tries, if the scenario has them.
    hedging: Option<Hedging>,
    flights: Flights,
    /// Requests that wait in the balancer because servers are at their limits.
    waiting: Waiting,
    /// Bindings of clients to servers, if clients are sticky.
    bonds: Option<Bonds>,
    events: BinaryHeap<Reverse<(u64, u64, Event)>>,
    event_count: u64,
    now_ns: u64,
    worker_rng: Rng,
    arrived: u64,
    sticky: Sticky,
    queue: Gauge,
    crowd: Crowd,
    tried: Vec<usize>,
    run: Run,
}

/// Event at a point of time, for a server or a request. The order is only needed by the heap; time and number
/// precede it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    Wake { server: u32 },
    OutOfPatience { flight: FlightId },
    Die { server: u32 },
    Revive { server: u32 },
    Noticed { server: u32, episode: u32 },
    Revise { server: u32 },
    Judge,
    Weigh,
    Hedge { flight: FlightId },
    MeasureAnswers,
    Add { server: u32 },
    Says { server: u32, word: usize },
    Drain { server: u32, is_maintenance: bool },
    Undrain { server: u32, is_maintenance: bool },
    Rise { server: u32, since_ns: u64 },
    Slow { server: u32, slow_down: usize },
    Recover { server: u32, slow_down: usize },
}

/// Cause of a request without a response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Blame {
    /// A server that was tried refused the request or died.
    Servers,
    /// There was no server or no room.
    Nobody,
}

#[derive(Debug, Clone, Default)]
struct Health {
    /// Number of current failures, which may overlap.
    failures: u32,
    /// Number of changes between dead and alive, so that the balancer notices only the newest.
    episode: u32,
    slow_downs: Vec<(usize, f64)>,
}

impl<'s> Engine<'s> {
    fn new(scenario: &'s Scenario, algorithm: Algorithm, seed: u64) -> Self {
        let groups = || scenario.groups.iter().flat_map(|group| (0..group.count).map(move |_| group));
        let servers: Vec<Server> = groups().map(Server::new).collect();
        let mut engine = Self {
            scenario,
            pool: Pool::new(scenario, algorithm, seed),
            health: vec![Health::default(); servers.len()],
            traffic: match scenario.balancer.ejection {
                Some(_) => vec![Traffic::default(); servers.len()],
                None => Vec::new(),
            },
            breaker: PoolBreaker::default(),
            budget: scenario
                .balancer
                .retry_budget
                .map(|rule| RetryBudget::new(rule.percent, rule.per_second, 0, 0)),
            retrying: 0,
            hedging: scenario.balancer.hedge.as_ref().map(Hedging::new),
            servers,
            flights: Flights::default(),
            waiting: Waiting::default(),
            bonds: scenario.balancer.sticky.as_ref().map(Bonds::new),
            events: BinaryHeap::new(),
            event_count: 0,
            now_ns: 0,
            worker_rng: Rng::new(seed, Stream::Workers),
            arrived: 0,
            sticky: Sticky::default(),
            queue: Gauge::default(),
            crowd: Crowd::default(),
            tried: Vec::new(),
            run: Run::default(),
        };
        if scenario.groups.iter().any(|group| group.cache.is_some()) {
            engine.run.cache = Some((0, 0));
        }
        if !scenario.priorities.is_empty() {
            engine.run.priorities = vec![PriorityRun::default(); scenario.priorities.len() + 1];
        }
        engine.plan_changes();
        engine
    }

    /// Handles all events up to `until_ns`.
    fn pass_until(&mut self, until_ns: u64) {
        while let Some(Reverse((at_ns, _, event))) = self.events.peek().copied()
            && at_ns <= until_ns
        {
            self.events.pop();
            self.happen(at_ns, event);
        }
        self.now_ns = until_ns.max(self.now_ns);
    }

    /// Handles events until the last request has ended.
    fn pass_rest(&mut self) {
        while !self.flights.is_empty()
            && let Some(Reverse((at_ns, _, event))) = self.events.pop()
        {
            self.happen(at_ns, event);
        }
    }

    fn schedule(&mut self, at_ns: u64, event: Event) {
        self.event_count += 1;
        self.events.push(Reverse((at_ns, self.event_count, event)));
        self.run.events_max = self.run.events_max.max(self.events.len() as u64);
    }

    fn happen(&mut self, at_ns: u64, event: Event) {
        self.now_ns = at_ns;
        match event {
            Event::Wake { server } => self.wake(server),
            Event::OutOfPatience { flight } => self.give_up(flight),
            Event::Die { server } => self.die(server),
            Event::Revive { server } => self.revive(server),
            Event::Noticed { server, episode } => self.notice(server, episode),
            Event::Revise { server } => self.serve_all(server),
            Event::Judge => self.judge_all(),
            Event::Weigh => self.weigh(),
            Event::Hedge { flight } => self.hedge(flight),
            Event::MeasureAnswers => self.measure_answers(),
            Event::Add { server } => self.add(server),
            Event::Says { server, word } => self.hear(server, word),
            Event::Drain { server, is_maintenance } => self.drain(server, is_maintenance),
            Event::Undrain { server, is_maintenance } => self.undrain(server, is_maintenance),
            Event::Rise { server, since_ns } => self.rise_further(server, since_ns),
            Event::Slow { server, slow_down } => self.slow(server, slow_down),
            Event::Recover { server, slow_down } => self.recover(server, slow_down),
        }
    }

    fn wake(&mut self, server: u32) {
        if !self.servers[server as usize].is_awaited(self.now_ns) {
            return;
        }
        while let Some(id) = self.with_queue(server as usize, |server, now_ns| server.finish(now_ns)) {
            // Another server may already have answered.
            if let Some(flight) = self.flights.remove(id) {
                self.end_tries(&flight);
                let bytes = flight.bytes.unwrap_or(0);
                self.run.bytes += u128::from(bytes);
                let (stay, other) = flight.tries(server);
                self.pool.end(server as usize, stay, Some(Answer { at_ns: self.now_ns, bytes }));
                self.end_hedge(server, &flight, other);
                self.note_latency(&flight);
                self.note_success(server);
                self.tell_breaker(flight.probe, Some(true));
            }
        }
        self.promise(server);
        self.serve_all(server);
    }

    fn note_latency(&mut self, flight: &Flight) {
        if !flight.is_measured {
            return;
        }
        let latency_ns =
            self.now_ns.saturating_sub(flight.arrived_ns).saturating_add(self.scenario.balancer.network.0);
        let latency_us = latency_ns.saturating_add(500) / 1000;
        self.run.latency.record(latency_us);
        self.note_priority(flight.priority, true, |of| of.latency.record(latency_us));
        self.run.latency_sum_ns += u128::from(latency_ns);
    }

    /// Ends a request without a response.
    fn fail(&mut self, id: FlightId, blame: Blame, count: impl FnOnce(&mut crate::Errors)) {
        let Some(flight) = self.flights.remove(id) else { return };
        self.end_tries(&flight);
        self.tell_breaker(flight.probe, (blame == Blame::Servers).then_some(false));
        if flight.is_measured {
            count(&mut self.run.errors);
        }
        self.note_priority(flight.priority, flight.is_measured, |of| of.failed += 1);
    }

    /// Records data of a request for its priority, if the scenario has priorities.
    fn note_priority(&mut self, priority: u32, is_measured: bool, note: impl FnOnce(&mut PriorityRun)) {
        if is_measured && let Some(of) = self.run.priorities.get_mut(priority as usize) {
            note(of);
        }
    }

    fn promise(&mut self, server: u32) {
        if let Some(at_ns) = self.servers[server as usize].next_wake(self.now_ns) {
            self.schedule(at_ns, Event::Wake { server });
        }
    }

    /// Applies `act` to a server and records the change of its queue.
    fn with_queue<T>(&mut self, server: usize, act: impl FnOnce(&mut Server, u64) -> T) -> T {
        let (before, requests_before) = (self.servers[server].queue(), self.servers[server].requests());
        let result = act(&mut self.servers[server], self.now_ns);
        let (after, requests) = (self.servers[server].queue(), self.servers[server].requests());
        self.crowd.change(self.now_ns, requests_before, requests);
        if before != after {
            self.change_queue(after as i64 - before as i64);
        }
        result
    }

    fn into_run(mut self) -> Run {
        self.run.moved_share = self.sticky.moved_share();
        self.run.found_weights = self.pool.found_weights();
        self.run.in_flight_max = self.flights.peak();
        self.run
    }
}
