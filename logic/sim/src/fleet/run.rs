//! The backtest of fleet rules: one set of rules against one demand and one seed.

use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;
use weir_scale::{Action, Now, Rules, Sample, Scaler, ServerState};

use super::demand::Demand;
use super::provider::{Provider, World};
use crate::rng::{Rng, Stream};

/// Result of one set of rules with one demand and one seed.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Outcome {
    /// Simulated seconds.
    pub seconds: u64,
    /// Requests that arrived.
    pub requests: u64,
    /// Time for which servers ran, from the order to the stop, in server-seconds.
    pub server_s: f64,
    /// Seconds in which the demand exceeded the capacity of the servers that took requests.
    pub overloaded_s: u64,
    /// Seconds at whose end requests had waited too long or were refused.
    pub waited_s: u64,
    /// Refused requests.
    pub refused: u64,
    /// Counts of actions.
    pub counts: Counts,
    /// Most servers running at the same time.
    pub servers_max: u32,
    /// Energy used by the servers, in watt-hours.
    pub energy_wh: f64,
    /// Course over time, in equal parts.
    #[serde(skip)]
    pub points: Vec<Point>,
}

/// Counts of actions on servers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Counts {
    /// Draining servers recalled.
    pub recalled: u32,
    /// Stopped servers woken.
    pub woken: u32,
    /// Servers created.
    pub created: u32,
    /// Servers drained.
    pub drained: u32,
    /// Servers stopped.
    pub stopped: u32,
    /// Servers deleted.
    pub deleted: u32,
}

/// Means over a part of the time.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Point {
    /// The middle of the part, in seconds.
    pub at_s: f64,
    /// Requests per second that arrived.
    pub rate_per_s: f64,
    /// Wanted number of servers.
    pub wanted: f64,
    /// Servers that ran.
    pub running: f64,
    /// Servers that took requests.
    pub serving: f64,
    /// Waiting time of the last request in the queue, in seconds.
    pub wait_s: f64,
}

/// Figures of one second.
#[derive(Debug, Clone, Copy)]
struct Second {
    /// Requests per second around it, without the random variation of single requests.
    demand: f64,
    came: f64,
    refused: f64,
    /// Waiting time of the last request in the queue.
    wait_s: f64,
    running: u32,
    serving: u32,
    /// Share of their time for which servers worked.
    busy_share: f64,
    wanted: u32,
}

/// Tolerance for rounding errors, which are not overload.
const EPSILON: f64 = 1e-6;
/// Most points of a course.
const POINTS_MAX: usize = 480;
/// Interval of the published autoscaler, in seconds. The demand starts at a random second of such an
/// interval.
const PHASES_S: u64 = 60;

/// Plays a set of rules against a demand. Two sets of rules get the same requests in each second.
pub fn backtest(rules: &Arc<Rules>, world: &World, demand: &Demand, seed: u64) -> Outcome {
    let mut arrivals = Rng::new(seed, Stream::Arrivals);
    let delay = arrivals.below(PHASES_S) as usize;
    let seconds = demand.rates_per_s.len() + delay;
    let mut scaler = Scaler::new(Arc::clone(rules));
    let (running, stopped) = quiet(rules);
    let mut provider = Provider::new(*world, Rng::new(seed, Stream::Work), running, stopped);
    let mut outcome = Outcome::new(seconds);
    let mut gathered = Gathered::new(seconds);
    let mut waiting = 0.0;
    let mut busy_share = 0.0;
    for second in 0..seconds {
        let now = Duration::from_secs(second as u64);
        let rate = demand.rate_at(second, delay);
        let came = if demand.is_counted { rate } else { poisson(&mut arrivals, rate) };
        let busy = (busy_share * world.capacity_per_s).round() as u64;
        provider.advance(now, busy, &mut scaler);
        let (running, serving) = count(&provider);
        let capacity = f64::from(serving) * world.capacity_per_s;
        let work = waiting + came;
        let done = work.min(capacity);
        let room = capacity.max(world.capacity_per_s) * world.queue_s;
        let refused = (work - done - room).max(0.0);
        waiting = work - done - refused;
        busy_share = if capacity > 0.0 { done / capacity } else { 0.0 };
        let wait_s = if capacity > 0.0 { waiting / capacity } else { waiting };
        let mut this = Second {
            demand: demand.level_at(second, delay),
            came,
            refused,
            wait_s,
            running,
            serving,
            busy_share,
            wanted: 0,
        };
        outcome.note(world, &this);
        let sample = Sample {
            requests: Some(outcome.requests),
            active: Some(done as u64),
            queued: Some(waiting as u64),
            ..Sample::default()
        };
        // The requests of this second are known at its end.
        let now = now + Duration::from_secs(1);
        scaler.observe(now, &sample);
        let decision = scaler.decide(Now::at(now), provider.servers());
        scaler.refit();
        for action in &decision.actions {
            outcome.counts.note(action);
            provider.act(now, action, &scaler);
        }
        this.wanted = decision.wanted;
        gathered.note(second, &this);
    }
    outcome.points = gathered.points();
    outcome
}

/// Returns the numbers of running and stopped servers of a fleet after a long quiet time.
fn quiet(rules: &Rules) -> (u32, u32) {
    let bounds = rules.bounds;
    let most = bounds.quota.unwrap_or(u32::MAX).min(bounds.max).saturating_sub(bounds.min);
    (bounds.min, rules.standby.keep.min(most))
}

/// Returns the numbers of running servers and of servers that take requests.
fn count(provider: &Provider) -> (u32, u32) {
    let servers = provider.servers();
    let running = servers.iter().filter(|server| server.state.is_powered()).count();
    let serving = servers.iter().filter(|server| server.state == ServerState::Active).count();
    (running as u32, serving as u32)
}

/// Returns the number of arrivals in a second with the mean `mean`: by intervals (Knuth), or nearly normal
/// for a large mean.
fn poisson(rng: &mut Rng, mean: f64) -> f64 {
    if mean > 50.0 {
        return (mean + mean.sqrt() * rng.normal()).round().max(0.0);
    }
    let (mut at, mut count) = (rng.exponential(), 0.0);
    while at < mean {
        at += rng.exponential();
        count += 1.0;
    }
    count
}

impl Outcome {
    fn new(seconds: usize) -> Self {
        Self {
            seconds: seconds as u64,
            requests: 0,
            server_s: 0.0,
            overloaded_s: 0,
            waited_s: 0,
            refused: 0,
            counts: Counts::default(),
            servers_max: 0,
            energy_wh: 0.0,
            points: Vec::new(),
        }
    }

    fn note(&mut self, world: &World, second: &Second) {
        let running = f64::from(second.running);
        self.requests += second.came as u64;
        self.refused += second.refused.round() as u64;
        self.overloaded_s +=
            u64::from(second.demand > f64::from(second.serving) * world.capacity_per_s + EPSILON);
        self.waited_s += u64::from(second.wait_s > world.wait_s || second.refused > 0.0);
        self.server_s += running;
        self.servers_max = self.servers_max.max(second.running);
        let busy = f64::from(second.serving) * second.busy_share * (world.busy_watts - world.idle_watts);
        self.energy_wh += (running * world.idle_watts + busy) / 3_600.0;
    }

    /// Returns the time for which servers ran, in minutes.
    pub fn server_minutes(&self) -> f64 {
        self.server_s / 60.0
    }
}

impl Counts {
    fn note(&mut self, action: &Action) {
        match action {
            Action::Recall { .. } => self.recalled += 1,
            Action::Wake { .. } => self.woken += 1,
            Action::Create { count, .. } => self.created += count,
            Action::Drain { .. } => self.drained += 1,
            Action::Stop { .. } => self.stopped += 1,
            Action::Delete { .. } => self.deleted += 1,
            Action::Replace { .. } => (self.deleted, self.created) = (self.deleted + 1, self.created + 1),
        }
    }

    /// Returns the number of decisions to have more or fewer servers: all but the stops and deletions that
    /// follow a drain.
    pub fn total(&self) -> u32 {
        self.recalled + self.woken + self.created + self.drained
    }
}

/// Sums over parts of the time.
struct Gathered {
    part: usize,
    sums: Vec<(Point, u32)>,
}

impl Gathered {
    fn new(seconds: usize) -> Self {
        Self { part: seconds.div_ceil(POINTS_MAX).max(1), sums: Vec::new() }
    }

    fn note(&mut self, second: usize, this: &Second) {
        let at = second / self.part;
        if self.sums.len() <= at {
            self.sums.resize(at + 1, (Point::default(), 0));
        }
        let (sum, count) = &mut self.sums[at];
        sum.at_s += second as f64 + 0.5;
        sum.rate_per_s += this.came;
        sum.wanted += f64::from(this.wanted);
        sum.running += f64::from(this.running);
        sum.serving += f64::from(this.serving);
        sum.wait_s += this.wait_s;
        *count += 1;
    }

    fn points(self) -> Vec<Point> {
        let mean = |(sum, count): (Point, u32)| {
            let count = f64::from(count.max(1));
            Point {
                at_s: sum.at_s / count,
                rate_per_s: sum.rate_per_s / count,
                wanted: sum.wanted / count,
                running: sum.running / count,
                serving: sum.serving / count,
                wait_s: sum.wait_s / count,
            }
        };
        self.sums.into_iter().map(mean).collect()
    }
}
