use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::io::BufRead;

use weir_balance::{Algorithm, Pick};
use weir_config::simulation::{Disturbance, Scenario};

use crate::crowd::Crowd;
use crate::in_flight::{Flight, FlightId, Flights};
use crate::pool::{Answer, Pool};
use crate::replay::LogError;
use crate::rng::{Rng, Stream};
use crate::run::Run;
use crate::server::Server;
use crate::sticky::Sticky;
use crate::workload::{Request, Workload, client_key};

/// Plays `scenario` with one algorithm. `log` is the text to be replayed, if the scenario says so. `progress` is told now
/// and then how many requests have come.
///
/// # Errors
/// The log cannot be read, or has a line that is none.
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
    flights: Flights,
    /// Requests that wait in the balancer because every server is at its limit, the longest first.
    line: VecDeque<FlightId>,
    events: BinaryHeap<Reverse<(u64, u64, Event)>>,
    event_count: u64,
    now_ns: u64,
    worker_rng: Rng,
    arrived: u64,
    sticky: Sticky,
    queue: Queue,
    crowd: Crowd,
    tried: Vec<usize>,
    run: Run,
}

/// What happens at some time. Ordered only so that it can stand in the heap, behind time and number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    Wake { server: u32 },
    LineTimeout,
    Die { server: u32 },
    Revive { server: u32 },
    Noticed { server: u32, episode: u32 },
    Slow { server: u32, slow_down: usize },
    Recover { server: u32, slow_down: usize },
}

#[derive(Debug, Clone, Default)]
struct Health {
    /// Failures that hold at the moment: they may overlap.
    failures: u32,
    /// Counts changes between dead and alive, so that the balancer notices the newest only.
    episode: u32,
    slow_downs: Vec<(usize, f64)>,
}

/// How many requests wait, over time.
#[derive(Debug, Default)]
struct Queue {
    length: u64,
    noted_ns: u64,
    is_measured: bool,
    is_closed: bool,
    window_from_ns: u64,
    integral: f64,
}

impl<'s> Engine<'s> {
    fn new(scenario: &'s Scenario, algorithm: Algorithm, seed: u64) -> Self {
        let groups = || scenario.groups.iter().flat_map(|group| (0..group.count).map(move |_| group));
        let servers: Vec<Server> = groups().map(Server::new).collect();
        let mut engine = Self {
            scenario,
            pool: Pool::new(scenario, algorithm, seed),
            health: vec![Health::default(); servers.len()],
            servers,
            flights: Flights::default(),
            line: VecDeque::new(),
            events: BinaryHeap::new(),
            event_count: 0,
            now_ns: 0,
            worker_rng: Rng::new(seed, Stream::Workers),
            arrived: 0,
            sticky: Sticky::default(),
            queue: Queue::default(),
            crowd: Crowd::default(),
            tried: Vec::new(),
            run: Run::default(),
        };
        if scenario.groups.iter().any(|group| group.cache.is_some()) {
            engine.run.cache = Some((0, 0));
        }
        engine.plan_disturbances();
        engine
    }

    fn plan_disturbances(&mut self) {
        let mut first = 0;
        for group in &self.scenario.groups {
            for (number, disturbance) in group.disturbances.iter().enumerate() {
                let (Disturbance::Fail(span)
                | Disturbance::Slow(weir_config::simulation::SlowDown { span, .. })) = disturbance;
                let end_ns = span.at.0.saturating_add(span.lasts.0);
                for server in first..first + span.servers.min(group.count) {
                    let (begin, end) = match disturbance {
                        Disturbance::Fail(_) => (Event::Die { server }, Event::Revive { server }),
                        Disturbance::Slow(_) => (
                            Event::Slow { server, slow_down: number },
                            Event::Recover { server, slow_down: number },
                        ),
                    };
                    self.schedule(span.at.0, begin);
                    self.schedule(end_ns, end);
                }
            }
            first += group.count;
        }
    }

    /// Everything that happens up to `until_ns`.
    fn pass_until(&mut self, until_ns: u64) {
        while let Some(Reverse((at_ns, _, event))) = self.events.peek().copied()
            && at_ns <= until_ns
        {
            self.events.pop();
            self.happen(at_ns, event);
        }
        self.now_ns = until_ns.max(self.now_ns);
    }

    /// Everything that happens until the last request is over.
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
            Event::LineTimeout => self.time_out(),
            Event::Die { server } => self.die(server),
            Event::Revive { server } => self.revive(server),
            Event::Noticed { server, episode } => self.notice(server, episode),
            Event::Slow { server, slow_down } => self.slow(server, slow_down),
            Event::Recover { server, slow_down } => {
                self.health[server as usize].slow_downs.retain(|(there, _)| *there != slow_down);
                self.set_speed(server);
            }
        }
    }

    fn arrive(&mut self, request: &Request) {
        let is_measured = self.arrived >= self.scenario.warm_up;
        if is_measured && !self.queue.is_measured {
            self.open_window();
        }
        self.arrived += 1;
        self.run.measured += u64::from(is_measured);
        let worker = self.worker_rng.below(self.scenario.balancer.workers.into()) as u32;
        let flight = self.flights.add(Flight {
            arrived_ns: self.now_ns,
            work_ns: request.work_ns,
            bytes: request.bytes,
            client: request.client,
            uri: request.uri,
            worker,
            is_measured,
            server: None,
            stay: None,
        });
        if self.line.is_empty() && self.dispatch(flight) {
            return;
        }
        let patience_ns = self.scenario.balancer.queue.0;
        if patience_ns == 0 {
            self.fail(flight, |errors| errors.timed_out += 1);
            return;
        }
        self.line.push_back(flight);
        self.change_queue(1);
        self.schedule(self.now_ns.saturating_add(patience_ns), Event::LineTimeout);
    }

    /// Sends a request to a server, or fails it; false if all are busy.
    fn dispatch(&mut self, id: FlightId) -> bool {
        let Some(flight) = self.flights.get_mut(id).copied() else { return true };
        self.tried.clear();
        for _ in 0..=self.scenario.balancer.retries {
            let slot = match self.pool.choose(&flight, self.now_ns, &self.tried) {
                Pick::Busy if self.tried.is_empty() => return false,
                Pick::Busy | Pick::Nobody => break,
                Pick::Server(slot) => slot,
            };
            if self.health[slot].failures == 0 {
                let stay = self.pool.stay(slot, self.now_ns);
                if let Some(flight) = self.flights.get_mut(id) {
                    flight.stay = Some(stay);
                }
                self.give(id, &flight, slot);
                return true;
            }
            self.pool.end(slot, None, None);
            self.tried.push(slot);
        }
        self.fail(id, |errors| errors.refused += 1);
        true
    }

    fn give(&mut self, id: FlightId, flight: &Flight, slot: usize) {
        let pool = &self.pool;
        if flight.is_measured {
            let could_stay = |server: u32| pool.could_take(server as usize);
            self.sticky.sent(client_key(flight.client), slot as u32, could_stay);
        }
        let server = &mut self.servers[slot];
        let (hit, work_ns) = server.look_up(flight.uri, flight.work_ns);
        if let (Some(hit), Some((hits, lookups)), true) = (hit, &mut self.run.cache, flight.is_measured) {
            *hits += u64::from(hit);
            *lookups += 1;
        }
        if let Some(flight) = self.flights.get_mut(id) {
            flight.server = Some(slot as u32);
        }
        self.with_queue(slot, |server, now_ns| server.take(now_ns, id, work_ns));
        self.promise(slot as u32);
    }

    fn wake(&mut self, server: u32) {
        if !self.servers[server as usize].is_awaited(self.now_ns) {
            return;
        }
        while let Some(id) = self.with_queue(server as usize, |server, now_ns| server.finish(now_ns)) {
            if let Some(flight) = self.flights.remove(id) {
                let bytes = flight.bytes.unwrap_or(0);
                self.run.bytes += u128::from(bytes);
                self.pool.end(server as usize, flight.stay, Some(Answer { at_ns: self.now_ns, bytes }));
                self.note_latency(&flight);
            }
        }
        self.promise(server);
        self.serve_line();
    }

    fn note_latency(&mut self, flight: &Flight) {
        if !flight.is_measured {
            return;
        }
        let latency_ns =
            self.now_ns.saturating_sub(flight.arrived_ns).saturating_add(self.scenario.balancer.network.0);
        self.run.latency.record(latency_ns.saturating_add(500) / 1000);
        self.run.latency_sum_ns += u128::from(latency_ns);
    }

    fn fail(&mut self, id: FlightId, count: impl FnOnce(&mut crate::Errors)) {
        if self.flights.remove(id).is_some_and(|flight| flight.is_measured) {
            count(&mut self.run.errors);
        }
    }

    /// Those who wait in the balancer go to servers that have room now.
    fn serve_line(&mut self) {
        while let Some(id) = self.line.front().copied() {
            if !self.dispatch(id) {
                return;
            }
            self.line.pop_front();
            self.change_queue(-1);
        }
    }

    /// All wait equally long: those whose time is over stand in front.
    fn time_out(&mut self) {
        let patience_ns = self.scenario.balancer.queue.0;
        while let Some(id) = self.line.front().copied()
            && let Some(flight) = self.flights.get_mut(id)
            && flight.arrived_ns.saturating_add(patience_ns) <= self.now_ns
        {
            self.line.pop_front();
            self.change_queue(-1);
            self.fail(id, |errors| errors.timed_out += 1);
        }
    }

    fn die(&mut self, server: u32) {
        let health = &mut self.health[server as usize];
        health.failures += 1;
        if health.failures > 1 {
            return;
        }
        health.episode += 1;
        let episode = health.episode;
        while let Some(id) = self.with_queue(server as usize, |server, now_ns| server.lose(now_ns)) {
            let stay = self.flights.get_mut(id).and_then(|flight| flight.stay);
            self.pool.end(server as usize, stay, None);
            self.fail(id, |errors| errors.broken += 1);
        }
        let notice_ns = self.now_ns.saturating_add(self.scenario.balancer.down_after.0);
        self.schedule(notice_ns, Event::Noticed { server, episode });
        self.serve_line();
    }

    fn revive(&mut self, server: u32) {
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

    fn notice(&mut self, server: u32, episode: u32) {
        let health = &self.health[server as usize];
        if health.episode == episode {
            self.pool.set_eligible(server as usize, health.failures == 0);
            self.serve_line();
        }
    }

    fn slow(&mut self, server: u32, slow_down: usize) {
        let mut first = 0;
        let group = self.scenario.groups.iter().find(|group| {
            first += group.count;
            server < first
        });
        if let Some(Disturbance::Slow(slow)) = group.and_then(|group| group.disturbances.get(slow_down)) {
            self.health[server as usize].slow_downs.push((slow_down, slow.speed));
            self.set_speed(server);
        }
    }

    fn set_speed(&mut self, server: u32) {
        // Those that overlap add up: each takes its share of what the others leave.
        let factor = self.health[server as usize].slow_downs.iter().map(|(_, speed)| speed).product();
        self.servers[server as usize].set_slow_down(self.now_ns, factor);
        self.promise(server);
    }

    fn promise(&mut self, server: u32) {
        if let Some(at_ns) = self.servers[server as usize].next_wake(self.now_ns) {
            self.schedule(at_ns, Event::Wake { server });
        }
    }

    /// Does something with a server, and notes what becomes of its queue.
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

    fn change_queue(&mut self, change: i64) {
        self.note_queue();
        self.queue.length = self.queue.length.saturating_add_signed(change);
        if self.queue.is_measured && !self.queue.is_closed {
            self.run.queue_max = self.run.queue_max.max(self.queue.length);
        }
    }

    fn note_queue(&mut self) {
        let Queue { length, noted_ns, is_measured, is_closed, .. } = self.queue;
        if is_closed || self.now_ns <= noted_ns {
            return;
        }
        self.run.queue.note(noted_ns, self.now_ns, length as f64);
        if is_measured {
            self.queue.integral += length as f64 * (self.now_ns - noted_ns) as f64;
        }
        self.queue.noted_ns = self.now_ns;
    }

    /// The warm-up is over.
    fn open_window(&mut self) {
        self.note_queue();
        self.queue.is_measured = true;
        self.queue.window_from_ns = self.now_ns;
        self.run.queue_max = self.queue.length;
        self.crowd.take_means(self.now_ns, 1);
        for server in &mut self.servers {
            server.take_utilisation(self.now_ns, 1);
        }
    }

    /// Nothing more will come: what is still to be done is no longer the system's usual state.
    fn close_window(&mut self) {
        self.note_queue();
        self.queue.is_closed = true;
        let span_ns = self.now_ns - self.queue.window_from_ns.min(self.now_ns);
        let now_ns = self.now_ns;
        self.run.utilisation =
            self.servers.iter_mut().map(|server| server.take_utilisation(now_ns, span_ns)).collect();
        let servers = self.servers.len().max(1) as f64;
        self.run.crowd = self.crowd.take_means(now_ns, span_ns).map(|mean| mean / servers);
        self.run.span_s = span_ns as f64 / 1e9;
        self.run.queue_mean = self.queue.integral / span_ns.max(1) as f64;
    }

    fn into_run(mut self) -> Run {
        self.run.moved_share = self.sticky.moved_share();
        self.run.in_flight_max = self.flights.peak();
        self.run
    }
}
