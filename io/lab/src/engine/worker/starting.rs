//! Requests begin.

use std::sync::atomic::Ordering::Relaxed;

use rustix::event::epoll::{self, EventFlags};

use super::super::answer::Answer;
use super::super::connection::{Connection, Exchange, Phase};
use super::super::job::Job;
use super::{DEADLINES_MIN, Pause, STARTS, Slot, Worker};
use crate::record::{Fault, Record};
use crate::tally::LATE_NS;
use crate::url::Url;

impl Worker<'_> {
    pub(super) fn start_due(&mut self) {
        for _ in 0..STARTS {
            let now = self.clock.now();
            let Some(job) = self.jobs.next_if(|job| job.due_ns <= now) else { return };
            self.report.due += u64::from(job.calls.max(1));
            self.live.due.fetch_add(u64::from(job.calls.max(1)), Relaxed);
            self.start(job, now);
        }
    }

    /// Starts a job, on a kept connection if it need not have one of its own.
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

    pub(super) fn connect(&mut self, origin: usize, now: u64) -> Result<usize, Fault> {
        let to = &self.shared.origins[origin];
        let sources = &self.shared.load.sources;
        let source = sources.get(self.next_source % sources.len().max(1)).copied();
        self.next_source += 1;
        let tls = to.session()?;
        let mut connection = Box::new(Connection::open(to.address, source, tls, origin)?);
        let at = self.vacant.pop().unwrap_or_else(|| {
            self.slots.push(Slot::default());
            self.slots.len() - 1
        });
        let slot = &mut self.slots[at];
        slot.serial = slot.serial.wrapping_add(1);
        connection.serial = slot.serial;
        connection.opened_ns = now;
        let token = epoll::EventData::new_u64((at as u64) << 32 | u64::from(slot.serial));
        let flags = EventFlags::IN | EventFlags::OUT | EventFlags::RDHUP | EventFlags::ET;
        if epoll::add(&self.epoll, &connection.socket, token, flags).is_err() {
            self.vacant.push(at);
            return Err(Fault::Memory);
        }
        slot.connection = Some(connection);
        self.open += 1;
        self.report.connections += 1;
        self.report.connections_at_once = self.report.connections_at_once.max(self.open as u64);
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
            self.live.late.fetch_add(1, Relaxed);
        }
        self.live.sent.fetch_add(1, Relaxed);
        self.put(at, job, record, None, now);
    }

    /// Puts a request on a connection: where its target leads, or where it has been sent on to, for the so-many-th time.
    pub(super) fn put(&mut self, at: usize, job: Job, record: Record, onward: Option<(&Url, u8)>, now: u64) {
        let (_, target) = &self.shared.targets[record.target as usize];
        let Some(connection) = &mut self.slots[at].connection else { return };
        self.next_id += 1;
        let hops = onward.map_or(0, |(_, hops)| hops);
        let exchange = Exchange { id: self.next_id, job, record, answer: Answer::new(target.is_head), hops };
        connection.ask(target, job.number, onward.map(|(url, _)| url), exchange);
        let ready = connection.phase == Phase::Ready;
        let flushed = if ready { connection.flush(&self.shared.pattern) } else { Ok(()) };
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

    /// Deadlines of requests that have ended wait behind that of a slow one: they must not become ever more.
    pub(super) fn forget_ended(&mut self) {
        let slots = &self.slots;
        let is_under_way = |at: usize, id: u64| {
            let connection = slots.get(at).and_then(|slot| slot.connection.as_ref());
            connection.and_then(|connection| connection.exchange.as_ref()).is_some_and(|other| other.id == id)
        };
        self.deadlines.retain(|(_, at, id)| is_under_way(*at, *id));
    }

    /// A user of the closed loop sends its next request, if there is to be one.
    pub(super) fn start_user(&mut self) {
        let now = self.clock.now();
        if self.shared.is_time_up(now) {
            return;
        }
        let number = self.shared.next_number.fetch_add(1, Relaxed);
        if self.shared.load.requests_max.is_some_and(|max| number >= max) {
            return;
        }
        self.report.due += 1;
        self.live.due.fetch_add(1, Relaxed);
        self.start(Job { due_ns: now, number, target: None, calls: 0, starved: false }, now);
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
                Pause::Session { slot, serial, job } if self.is_there(slot, serial) => {
                    self.ask(slot, job, now)
                }
                Pause::Session { job, .. } => self.lose_calls(job),
            }
        }
    }
}
