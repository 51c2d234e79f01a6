//! Handles the end of a request and starts the next one.

use super::super::job::Job;
use super::super::lane::Exchange;
use super::super::onward::HOPS_MAX;
use super::{Pause, RETRY_NS, Worker};
use crate::facts::{FirstAnswer, Mode};
use crate::record::{Fault, Record};
use crate::url::Url;

impl Worker<'_> {
    /// Completes the request of a lane whose response is complete.
    pub(super) fn finish(&mut self, at: usize, keep: bool) {
        let Some(lane) = self.lanes.get_mut(at) else { return };
        let Some(exchange) = lane.exchange.take() else { return };
        lane.replies += 1;
        let origin = lane.origin;
        let link = lane.link();
        let Exchange { job, mut record, answer, hops, .. } = exchange;
        record.status = answer.status;
        record.bytes_in = answer.body_bytes;
        record.head_in = record.head_in.saturating_add(answer.head_bytes);
        record.server = answer.server;
        record.verified = answer.verified;
        let software = &self.reader.software;
        self.report.first_answer.get_or_insert_with(|| FirstAnswer {
            software: software.clone().unwrap_or_default(),
            body_bytes: answer.body_bytes,
        });
        if let Some(link) = link {
            self.rest_link(link);
        }
        self.under_way_ended(record.end_ns);
        if let Some((to, url)) = self.onward(&job, &record, answer.location.as_deref(), origin, hops) {
            self.rest(at, keep);
            return self.go_to(to, &url, job, record, hops + 1);
        }
        if job.calls > 1 {
            self.note(&record);
            return self.go_on(at, job, keep, record.end_ns);
        }
        self.rest(at, keep && job.calls == 0);
        if job.calls == 1 {
            self.report.sessions.complete += 1;
        }
        self.end_job(record);
    }

    /// Makes a lane without a request wait for the next one, or closes it if it cannot be reused.
    pub(super) fn rest(&mut self, at: usize, keep: bool) {
        let Some(lane) = self.lanes.get(at) else { return };
        if keep && self.may_stay(lane) {
            let origin = lane.origin;
            self.idle[origin].push(at);
        } else {
            self.close(at);
        }
    }

    /// Returns the target of a redirect, if the request follows it.
    fn onward(
        &self,
        job: &Job,
        record: &Record,
        location: Option<&[u8]>,
        from: usize,
        hops: u8,
    ) -> Option<(usize, Url)> {
        let has_body = self.shared.targets[record.target as usize].1.body.bytes() > 0;
        if has_body || job.calls > 0 || hops >= HOPS_MAX {
            return None;
        }
        self.shared.onward(location?, from)
    }

    /// Sends the request to that URL. The due time and the start time stay the same.
    fn go_to(&mut self, origin: usize, url: &Url, job: Job, record: Record, hops: u8) {
        let now = record.end_ns;
        let record = Record { first_byte_ns: None, ..record };
        let connected = match self.idle[origin].pop() {
            Some(at) => Ok(at),
            None => self.connect(origin, now),
        };
        match connected {
            Ok(at) => self.put(at, job, record, Some((url, hops)), now),
            Err(fault) => self.end_job(Record { fault: Some(fault), end_ns: self.clock.now(), ..record }),
        }
    }

    /// Starts or schedules the next request of a session.
    pub(super) fn go_on(&mut self, at: usize, job: Job, keep: bool, now: u64) {
        let Mode::Sessions { pause_s, .. } = self.shared.load.mode else { return };
        let due_ns = now + (pause_s * 1e9) as u64;
        let next = Job { due_ns, number: job.number + 1, calls: job.calls - 1, starved: false, ..job };
        if !keep {
            self.close(at);
            self.lose_calls(next);
        } else if pause_s > 0.0 {
            let serial = self.lanes.serial(at);
            self.pauses.push_back((due_ns, Pause::Session { lane: at, serial, job: next }));
        } else {
            self.ask(at, next, now);
        }
    }

    /// Counts the requests of a session that the server ended early as unsent.
    pub(super) fn lose_calls(&mut self, job: Job) {
        self.report.unsent += u64::from(job.calls);
    }

    /// Ends the request of a lane with a fault. Closes an HTTP/1 connection, but keeps the lane of an HTTP/2
    /// stream.
    pub(super) fn fail(&mut self, at: usize, fault: Fault) {
        let Some(lane) = self.lanes.get_mut(at) else { return };
        let exchange = lane.exchange.take();
        match lane.link() {
            None => self.close(at),
            Some(_) => self.leave_stream(at, fault, exchange.as_ref()),
        }
        let Some(Exchange { job, mut record, answer, .. }) = exchange else { return };
        record.end_ns = self.clock.now();
        record.fault = Some(fault);
        record.status = answer.status;
        record.bytes_in = answer.body_bytes;
        record.head_in = record.head_in.saturating_add(answer.head_bytes);
        self.under_way_ended(record.end_ns);
        if job.calls > 1 {
            self.lose_calls(Job { calls: job.calls - 1, ..job });
        }
        self.end_job(record);
    }

    pub(super) fn under_way_ended(&mut self, now: u64) {
        self.under_way -= 1;
        if let Some(since) = self.silent_since {
            self.report.silence_ns = self.report.silence_ns.max(now.saturating_sub(since));
            if self.under_way == 0 {
                self.silent_since = None;
            }
        }
    }

    /// Completes a job after its last request.
    pub(super) fn end_job(&mut self, record: Record) {
        self.note(&record);
        let Mode::Closed { pause_s, .. } = self.shared.load.mode else { return };
        if record.fault == Some(Fault::Stopped) {
            return;
        }
        let never_connected = record.connected_ns.is_none() && record.first_byte_ns.is_none();
        let pause_ns = (pause_s * 1e9) as u64;
        let pause_ns =
            if record.fault.is_some() && never_connected { pause_ns.max(RETRY_NS) } else { pause_ns };
        if pause_ns > 0 {
            self.pauses.push_back((record.end_ns + pause_ns, Pause::User));
        } else {
            self.start_user();
        }
    }

    /// Gives free connections to the waiting jobs, oldest first.
    pub(super) fn start_waiting(&mut self) {
        while let Some(job) = self.backlog.front() {
            let origin = self.shared.targets[self.shared.target_of(job)].0;
            let has_room = self.open < self.connections_max || self.has_idle_one();
            let has_kept = job.calls == 0 && !self.idle[origin].is_empty();
            if !has_room && !has_kept {
                return;
            }
            let Some(job) = self.backlog.pop_front() else { return };
            let now = self.clock.now();
            if now.saturating_sub(job.due_ns) > self.shared.timeout_ns {
                // A job that has waited as long as the timeout of a request is not sent.
                self.report.unsent += u64::from(job.calls.max(1));
            } else {
                self.start(job, now);
            }
        }
    }

    pub(super) fn note(&mut self, record: &Record) {
        self.report.tally.add(record);
        self.live.add(record, &self.shared.load.expected);
        self.output.add(record);
    }

    /// Returns true if a connection can be closed to make room for another.
    fn has_idle_one(&self) -> bool {
        match self.shared.load.streams {
            None => self.idle.iter().any(|idle| !idle.is_empty()),
            Some(_) => self.idle_link().is_some(),
        }
    }

    pub(super) fn close_an_idle_one(&mut self) -> bool {
        if self.shared.load.streams.is_some() {
            let Some(link) = self.idle_link() else { return false };
            self.retire(link);
            return true;
        }
        let Some(at) = self.idle.iter_mut().find_map(Vec::pop) else { return false };
        self.close(at);
        true
    }

    pub(super) fn close(&mut self, at: usize) {
        let Some(lane) = self.lanes.take(at) else { return };
        self.lanes.release(at);
        if lane.exchange.is_none() {
            // Few lanes are idle when one of them closes. The lanes used last are at the end.
            let idle = &mut self.idle[lane.origin];
            if let Some(place) = idle.iter().rposition(|other| *other == at) {
                idle.remove(place);
            }
        }
        if let Mode::Sessions { .. } = self.shared.load.mode {
            let now = self.clock.now();
            let sessions = &mut self.report.sessions;
            sessions.lifetimes.record(now.saturating_sub(lane.opened_ns));
            sessions.ended += 1;
            sessions.replies += u64::from(lane.replies);
        }
        match lane.link() {
            None => self.open -= 1,
            Some(link) => self.leave_link(link, at),
        }
    }
}
