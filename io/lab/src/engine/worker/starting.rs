//! Starts requests.

use std::sync::atomic::Ordering::Relaxed;

use rustix::event::epoll::{self, EventFlags};

use super::super::connection::{Connection, Phase};
use super::super::job::Job;
use super::super::lane::{Carrier, Exchange, Lane};
use super::super::live::add;
use super::{DEADLINES_MIN, NUMBERS, Pause, STARTS, Worker};
use crate::record::{Fault, Record};
use crate::tally::LATE_NS;
use crate::url::Url;

/// Edge-triggered events of a socket. After each event, the worker reads and writes until the socket would
/// block.
pub(super) const EVENTS_OF_SOCKETS: EventFlags =
    EventFlags::IN.union(EventFlags::OUT).union(EventFlags::RDHUP).union(EventFlags::ET);

impl Worker<'_> {
    pub(super) fn start_due(&mut self) {
        let before = self.report.connections;
        let is_over = self.start_some_due();
        self.connect_burst += self.report.connections - before;
        self.report.connect_burst_max = self.report.connect_burst_max.max(self.connect_burst);
        if is_over {
            self.connect_burst = 0;
        }
    }

    /// Starts due requests, up to a limit. Returns true if no more are due.
    fn start_some_due(&mut self) -> bool {
        for _ in 0..STARTS {
            let now = self.clock.now();
            let Some(job) = self.jobs.next_if(|job| job.due_ns <= now) else { return true };
            self.report.due += u64::from(job.calls.max(1));
            add(&self.live.due, u64::from(job.calls.max(1)));
            self.start(job, now);
        }
        false
    }

    /// Starts a job, on a kept connection unless the job needs its own.
    pub(super) fn start(&mut self, job: Job, now: u64) {
        let target = self.shared.target_of(&job);
        let origin = self.shared.targets[target].0;
        if job.calls == 0
            && let Some(at) = self.idle[origin].pop()
        {
            return self.ask(at, job, now);
        }
        if self.open >= self.connections_max && !self.close_an_idle_one() {
            let starved = Job { starved: true, ..job };
            return self.backlog.push_back(starved);
        }
        match self.connect(origin, now) {
            Ok(at) => self.ask(at, job, now),
            Err(fault) => {
                let record = self.record_of(&job, target, now);
                let end_ns = self.clock.now();
                if job.calls > 1 {
                    self.lose_calls(Job { calls: job.calls - 1, ..job });
                }
                self.end_job(Record { fault: Some(fault), end_ns, ..record });
            }
        }
    }

    /// Opens a new connection to an origin and returns its lane.
    pub(super) fn connect(&mut self, origin: usize, now: u64) -> Result<usize, Fault> {
        let to = &self.shared.origins[origin];
        let sources = &self.shared.load.sources;
        let source = sources.get(self.next_source % sources.len().max(1)).copied();
        self.next_source += 1;
        let tls = to.session()?;
        let connection = Connection::open(to.address, source, tls)?;
        let at = if self.shared.load.streams.is_some() {
            self.add_link(connection, origin, now)?
        } else {
            self.add_connection(connection, origin, now)?
        };
        self.open += 1;
        self.report.connections += 1;
        self.report.connections_at_once = self.report.connections_at_once.max(self.open as u64);
        Ok(at)
    }

    fn add_connection(&mut self, connection: Connection, origin: usize, now: u64) -> Result<usize, Fault> {
        let (at, serial) = self.lanes.reserve();
        let token = epoll::EventData::new_u64((at as u64) << 32 | u64::from(serial));
        if epoll::add(&self.epoll, &connection.socket, token, EVENTS_OF_SOCKETS).is_err() {
            self.lanes.release(at);
            return Err(Fault::Memory);
        }
        let carrier = Carrier::Connection(connection);
        let lane = Lane { carrier, origin, exchange: None, opened_ns: now, replies: 0 };
        self.lanes.put(at, Box::new(lane));
        Ok(at)
    }

    pub(super) fn record_of(&self, job: &Job, target: usize, now: u64) -> Record {
        Record {
            due_ns: job.due_ns,
            start_ns: now,
            target: target as u32,
            starved: job.starved,
            ..Record::default()
        }
    }

    /// Puts the job's next request on a connection.
    pub(super) fn ask(&mut self, at: usize, job: Job, now: u64) {
        let number = self.shared.target_of(&job);
        let record = self.record_of(&job, number, now);
        if record.delay_ns() > LATE_NS {
            add(&self.live.late, 1);
        }
        add(&self.live.sent, 1);
        self.put(at, job, record, None, now);
    }

    /// Puts a request on a connection. `onward` contains the URL and the number of redirects, if the request
    /// was redirected.
    pub(super) fn put(&mut self, at: usize, job: Job, record: Record, onward: Option<(&Url, u8)>, now: u64) {
        let (_, target) = &self.shared.targets[record.target as usize];
        let Some(lane) = self.lanes.get_mut(at) else { return };
        self.next_id += 1;
        let hops = onward.map_or(0, |(_, hops)| hops);
        let mut exchange = Exchange::new(self.next_id, job, record, target, hops);
        let url = onward.map(|(url, _)| url);
        let (flushed, link) = match &mut lane.carrier {
            Carrier::Connection(connection) => {
                let record = &mut exchange.record;
                let head = connection.ask(target, job.number, url);
                record.head_out = record.head_out.saturating_add(head);
                let is_ready = connection.phase == Phase::Ready;
                let pattern = &self.shared.pattern;
                (if is_ready { connection.flush(pattern, &mut record.bytes_out) } else { Ok(()) }, None)
            }
            Carrier::Stream(stream) => {
                stream.onward = url.cloned();
                (Ok(()), Some(stream.link))
            }
        };
        lane.exchange = Some(exchange);
        if let Some(link) = link {
            self.ask_link(link, at, self.next_id);
        }
        self.deadlines.push_back((now + self.shared.timeout_ns, at, self.next_id));
        if self.deadlines.len() > DEADLINES_MIN + 4 * self.under_way {
            self.forget_ended();
        }
        self.under_way += 1;
        self.silent_since.get_or_insert(now);
        if let Err(fault) = flushed {
            self.fail(at, fault);
        }
    }

    /// Removes the deadlines of ended requests, which would otherwise accumulate behind the deadline of a
    /// slow request.
    pub(super) fn forget_ended(&mut self) {
        let lanes = &self.lanes;
        let is_under_way = |at: usize, id: u64| {
            let exchange = lanes.get(at).and_then(|lane| lane.exchange.as_ref());
            exchange.is_some_and(|other| other.id == id)
        };
        self.deadlines.retain(|(_, at, id)| is_under_way(*at, *id));
    }

    /// Starts the next request of a user in the closed loop, unless the run is over.
    pub(super) fn start_user(&mut self) {
        let now = self.clock.now();
        if self.shared.is_time_up(now) {
            return;
        }
        let Some(number) = self.next_number() else { return };
        self.report.due += 1;
        add(&self.live.due, 1);
        self.start(Job { due_ns: now, number, target: None, calls: 0, starved: false }, now);
    }

    /// Returns the number of a user's next request; `None` = the limit of requests is reached.
    fn next_number(&mut self) -> Option<u64> {
        let max = self.shared.load.requests_max;
        if self.numbers.is_empty() {
            // With a limit, numbers are reserved one by one. Otherwise a thread could have unused numbers
            // when the other threads have none.
            let count = if max.is_some() { 1 } else { NUMBERS };
            let first = self.shared.next_number.fetch_add(count, Relaxed);
            self.numbers = first..first + count;
        }
        self.numbers.next().filter(|number| max.is_none_or(|max| *number < max))
    }

    pub(super) fn end_pauses(&mut self) {
        while let Some((at_ns, pause)) = self.pauses.front().copied() {
            let now = self.clock.now();
            if at_ns > now {
                return;
            }
            self.pauses.pop_front();
            match pause {
                Pause::User => self.start_user(),
                Pause::Session { lane, serial, job } if self.lanes.is_there(lane, serial) => {
                    self.ask(lane, job, now);
                }
                Pause::Session { job, .. } => self.lose_calls(job),
            }
        }
    }
}
