//! A simulated server.

use std::cmp::Ordering;
use std::collections::{BinaryHeap, VecDeque};

use weir_balance::RequestClass;
use weir_config::simulation::{Group, Sharing};

use crate::flight_id::FlightId;
use crate::lru::Lru;

/// A server that works on requests.
///
/// All its running requests progress at the same rate, so one clock suffices. The clock runs at that rate,
/// and a request is done when the clock has advanced by the request's work. A change of speed changes only
/// the clock's rate.
#[derive(Debug)]
pub(crate) struct Server {
    speed: f64,
    /// Work of a request for which the server fetches data, relative to one for which it computes.
    static_work: f64,
    slow_down: f64,
    slots: u32,
    sharing: Sharing,
    /// Work done on each request since the server was last idle, in nanoseconds at speed 1.
    clock: f64,
    clock_at_ns: u64,
    working: BinaryHeap<Job>,
    waiting: VecDeque<(FlightId, f64)>,
    /// Time of its next event. Earlier events that are still in the heap are void.
    wake_at_ns: Option<u64>,
    jobs: u64,
    cache: Option<Lru>,
    cache_speed_up: f64,
    /// Slots in use, integrated over time.
    busy_ns: f64,
}

/// A running request. The heap's greatest element is the first to be done.
#[derive(Debug)]
struct Job {
    done_at_clock: f64,
    number: u64,
    flight: FlightId,
}

impl Server {
    pub(crate) fn new(group: &Group) -> Self {
        Self {
            speed: group.speed,
            static_work: group.static_speed.map_or(1.0, |static_speed| group.speed / static_speed),
            slow_down: 1.0,
            slots: group.concurrency,
            sharing: group.sharing,
            clock: 0.0,
            clock_at_ns: 0,
            working: BinaryHeap::new(),
            waiting: VecDeque::new(),
            wake_at_ns: None,
            jobs: 0,
            cache: group.cache.map(|cache| Lru::new(cache.uris)),
            cache_speed_up: group.cache.map_or(1.0, |cache| cache.speed_up),
            busy_ns: 0.0,
        }
    }

    /// Looks up the cache, if there is one. Returns whether it was a hit, and the remaining work.
    pub(crate) fn look_up(&mut self, class: RequestClass, uri: u64, work_ns: f64) -> (Option<bool>, f64) {
        let work_ns = if class == RequestClass::Static { work_ns * self.static_work } else { work_ns };
        match &mut self.cache {
            None => (None, work_ns),
            Some(cache) => match cache.ask(uri) {
                true => (Some(true), work_ns / self.cache_speed_up),
                false => (Some(false), work_ns),
            },
        }
    }

    /// Takes a request. Afterwards, as after every change, the caller calls [`Server::next_wake`].
    pub(crate) fn take(&mut self, now_ns: u64, flight: FlightId, work_ns: f64) {
        self.advance(now_ns);
        if self.sharing == Sharing::Fifo && self.working.len() >= self.slots as usize {
            self.waiting.push_back((flight, work_ns));
        } else {
            self.start(flight, work_ns);
        }
    }

    /// Returns a request that is done now, if there is one. Call it again until it returns `None`.
    pub(crate) fn finish(&mut self, now_ns: u64) -> Option<FlightId> {
        self.advance(now_ns);
        let left = self.working.peek()?.done_at_clock - self.clock;
        // Events occur at whole nanoseconds and never before the work is done. A remaining difference is a
        // rounding error.
        if left > self.rate() * 0.5 + self.clock * 1e-14 {
            return None;
        }
        let flight = self.working.pop()?.flight;
        if let Some((next, work_ns)) = self.waiting.pop_front() {
            self.start(next, work_ns);
        }
        if self.working.is_empty() {
            self.clock = 0.0;
        }
        Some(flight)
    }

    /// Loses all requests, one at a time. Call it until it returns `None`.
    pub(crate) fn lose(&mut self, now_ns: u64) -> Option<FlightId> {
        self.advance(now_ns);
        let flight =
            self.working.pop().map(|job| job.flight).or_else(|| self.waiting.pop_front().map(|job| job.0));
        if flight.is_none() {
            self.clock = 0.0;
            if let Some(cache) = &mut self.cache {
                cache.clear();
            }
        }
        flight
    }

    /// Sets the speed to `factor` times the server's own speed.
    pub(crate) fn set_slow_down(&mut self, now_ns: u64, factor: f64) {
        self.advance(now_ns);
        self.slow_down = factor;
    }

    /// Returns the time of its next event, if that is earlier than the scheduled one or if none is scheduled.
    pub(crate) fn next_wake(&mut self, now_ns: u64) -> Option<u64> {
        let left = self.working.peek()?.done_at_clock - self.clock;
        // Waits at least a nanosecond, so that an event without effect is not followed by another at the same
        // time.
        let wait = (left.max(0.0) / self.rate()).ceil().max(1.0) as u64;
        let due = now_ns.saturating_add(wait);
        if self.wake_at_ns.is_some_and(|promised| promised <= due) {
            return None;
        }
        self.wake_at_ns = Some(due);
        Some(due)
    }

    /// Returns true if this event is the scheduled one, not an earlier one that is void.
    pub(crate) fn is_awaited(&mut self, at_ns: u64) -> bool {
        self.wake_at_ns.take_if(|promised| *promised == at_ns).is_some()
    }

    /// Returns the number of running and waiting requests.
    pub(crate) fn requests(&self) -> usize {
        self.working.len() + self.waiting.len()
    }

    /// Returns the number of requests beyond its slots.
    pub(crate) fn queue(&self) -> u64 {
        self.requests().saturating_sub(self.slots as usize) as u64
    }

    /// Returns the share of its slots that was in use since the last call, over `span_ns`.
    pub(crate) fn take_utilisation(&mut self, now_ns: u64, span_ns: u64) -> f64 {
        self.advance(now_ns);
        std::mem::take(&mut self.busy_ns) / (f64::from(self.slots) * span_ns.max(1) as f64)
    }

    fn start(&mut self, flight: FlightId, work_ns: f64) {
        self.jobs += 1;
        self.working.push(Job { done_at_clock: self.clock + work_ns, number: self.jobs, flight });
    }

    fn rate(&self) -> f64 {
        let crowd = self.working.len().max(1) as f64;
        let share = match self.sharing {
            Sharing::Fifo => 1.0,
            Sharing::Shared => (f64::from(self.slots) / crowd).min(1.0),
        };
        self.speed * self.slow_down * share
    }

    fn advance(&mut self, now_ns: u64) {
        let passed = now_ns.saturating_sub(self.clock_at_ns);
        self.clock_at_ns = now_ns;
        if passed > 0 && !self.working.is_empty() {
            self.clock += self.rate() * passed as f64;
            self.busy_ns += passed as f64 * (self.working.len() as f64).min(f64::from(self.slots));
        }
    }
}

impl Ord for Job {
    fn cmp(&self, other: &Self) -> Ordering {
        let by_clock = other.done_at_clock.total_cmp(&self.done_at_clock);
        by_clock.then_with(|| other.number.cmp(&self.number))
    }
}

impl PartialOrd for Job {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Job {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Job {}
