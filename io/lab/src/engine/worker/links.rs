//! Manages HTTP/2 connections, which several lanes share.

use std::task::Poll;

use rustix::event::epoll::{self, EventFlags};

use super::super::connection::Connection;
use super::super::http2::Link;
use super::super::lane::{Carrier, Exchange, Lane};
use super::starting::EVENTS_OF_SOCKETS;
use super::{Step, Worker};
use crate::facts::Mode;
use crate::record::{Fault, Record};

/// Flag in the index of an event: the index is of a link, not of a lane.
pub(super) const LINK: usize = 1 << 31;
/// Maximum number of connections that may reject a request before the request fails.
const MOVES_MAX: u8 = 5;

impl Worker<'_> {
    /// Adds a connection with its lanes. Returns the first lane; the others are idle.
    pub(super) fn add_link(
        &mut self,
        connection: Connection,
        origin: usize,
        now: u64,
    ) -> Result<usize, Fault> {
        let (at, serial) = self.links.reserve();
        let token = epoll::EventData::new_u64(((at | LINK) as u64) << 32 | u64::from(serial));
        if epoll::add(&self.epoll, &connection.socket, token, EVENTS_OF_SOCKETS).is_err() {
            self.links.release(at);
            return Err(Fault::Memory);
        }
        let mut link = Link::new(connection);
        for _ in 0..self.streams() {
            let (lane, _) = self.lanes.reserve();
            let carrier = Carrier::Stream(link.stream(at, lane));
            let content = Lane { carrier, origin, exchange: None, opened_ns: now, replies: 0 };
            self.lanes.put(lane, Box::new(content));
            link.lanes.push(lane);
        }
        let first = link.lanes[0];
        // Idle lanes are taken from the end.
        self.idle[origin].extend(link.lanes[1..].iter().rev());
        self.links.put(at, Box::new(link));
        Ok(first)
    }

    /// Returns the number of lanes per connection.
    pub(super) fn streams(&self) -> usize {
        let load = &self.shared.load;
        let is_alone = matches!(load.mode, Mode::Sessions { .. }) || !load.keep_alive;
        if is_alone { 1 } else { load.streams.unwrap_or(1).max(1) }
    }

    pub(super) fn on_link_event(&mut self, at: usize, serial: u32, flags: EventFlags) {
        if !self.links.is_there(at, serial) {
            return;
        }
        if let Some(link) = self.links.get(at) {
            link.note(flags);
        }
        self.touch(at);
    }

    /// Queues a link for work before the next wait.
    fn touch(&mut self, at: usize) {
        if let Some(link) = self.links.get_mut(at)
            && !std::mem::replace(&mut link.is_due, true)
        {
            self.due_links.push(at);
        }
    }

    /// Queues the request of a lane on its link.
    pub(super) fn ask_link(&mut self, at: usize, lane: usize, id: u64) {
        if let Some(link) = self.links.get_mut(at) {
            link.asked.push((lane, id));
            link.busy += 1;
        }
        self.touch(at);
    }

    /// Records that a lane of a link has no request any more.
    pub(super) fn rest_link(&mut self, at: usize) {
        if let Some(link) = self.links.get_mut(at) {
            link.busy -= 1;
        }
    }

    pub(super) fn drive_links(&mut self) {
        while let Some(at) = self.due_links.pop() {
            self.drive(at);
        }
    }

    /// Does all work that is possible for a link now.
    fn drive(&mut self, at: usize) {
        let serial = self.links.serial(at);
        let Some(mut link) = self.links.take(at) else { return };
        link.is_due = false;
        let mut steps = std::mem::take(&mut self.steps);
        let end = self.advance_link(&mut link, &mut steps);
        let was_idle = link.busy == 0;
        self.links.put(at, link);
        if end.is_some() {
            self.report.closed_idle += u64::from(was_idle);
            // Before the handling of its last requests, so that the next requests use other connections.
            self.retire(at);
        }
        for (lane, step) in steps.drain(..) {
            match step {
                Step::Answered { keep } => self.finish(lane, keep),
                Step::Failed(fault) => self.fail(lane, fault),
                Step::Unsent => self.move_on(lane),
                Step::Pending | Step::Over { .. } => {}
            }
        }
        self.steps = steps;
        // Otherwise another link occupies the slot by now.
        if self.links.is_there(at, serial) {
            match end {
                Some(fault) => self.end_link(at, fault),
                None => self.fit(at),
            }
        }
    }

    /// Sends, receives, and reports the outcome of requests. Returns the reason if the connection is over.
    fn advance_link(&mut self, link: &mut Link, steps: &mut Vec<(usize, Step)>) -> Option<Fault> {
        loop {
            let was_ready = link.is_ready();
            if was_ready {
                self.send_asked(link, steps);
            }
            link.take_woken();
            let end = match link.poll() {
                Poll::Pending => None,
                Poll::Ready(fault) => Some(fault),
            };
            let now = self.clock.now();
            if link.has_heard(now) {
                self.hear(now);
            }
            if !was_ready && link.is_ready() {
                self.note_connected(link, now);
            }
            self.poll_streams(link, steps);
            if end.is_some() {
                if link.is_ready() {
                    self.give_back(link, steps);
                }
                return end;
            }
            if was_ready == link.is_ready() && !link.take_woken() {
                return None;
            }
        }
    }

    fn send_asked(&mut self, link: &mut Link, steps: &mut Vec<(usize, Step)>) {
        let mut asked = std::mem::take(&mut link.asked);
        for (at, id) in asked.drain(..) {
            let Some(mut lane) = self.lanes.take(at) else { continue };
            let sent = match &mut lane.exchange {
                // Otherwise the request has timed out meanwhile.
                Some(exchange) if exchange.id == id => self.send(link, &mut lane.carrier, exchange),
                _ => Step::Pending,
            };
            self.lanes.put(at, lane);
            if !matches!(sent, Step::Pending) {
                steps.push((at, sent));
            }
        }
        link.asked = asked;
    }

    /// Returns unsent requests, so that they can use another connection.
    fn give_back(&self, link: &mut Link, steps: &mut Vec<(usize, Step)>) {
        for (at, id) in link.asked.drain(..) {
            let exchange = self.lanes.get(at).and_then(|lane| lane.exchange.as_ref());
            if exchange.is_some_and(|exchange| exchange.id == id) {
                steps.push((at, Step::Unsent));
            }
        }
    }

    fn send(&mut self, link: &Link, carrier: &mut Carrier, exchange: &mut Exchange) -> Step {
        let target = &self.shared.targets[exchange.record.target as usize].1;
        let (Carrier::Stream(stream), Some(requests), Some(head)) = (carrier, link.requests(), &target.http2)
        else {
            return Step::Failed(Fault::NoHttp2);
        };
        if stream.send(requests, head, target, exchange).is_err() {
            return Step::Unsent;
        }
        match stream.poll(exchange, &mut self.reader, &self.shared.pattern, &self.clock) {
            Ok(false) => Step::Pending,
            Ok(true) => Step::Answered { keep: self.shared.load.keep_alive },
            Err(fault) => Step::Failed(fault),
        }
    }

    /// Records that requests which waited for the connection now wait for their responses.
    fn note_connected(&mut self, link: &Link, now: u64) {
        for (at, _) in &link.asked {
            if let Some(exchange) = self.lanes.get_mut(*at).and_then(|lane| lane.exchange.as_mut())
                && exchange.hops == 0
            {
                exchange.record.connected_ns.get_or_insert(now);
            }
        }
    }

    fn poll_streams(&mut self, link: &Link, steps: &mut Vec<(usize, Step)>) {
        let mut woken = std::mem::take(&mut self.woken);
        link.take_woken_streams(&mut woken);
        for at in woken.drain(..) {
            let Some(mut lane) = self.lanes.take(at) else { continue };
            if let Lane { carrier: Carrier::Stream(stream), exchange: Some(exchange), .. } = &mut *lane {
                match stream.poll(exchange, &mut self.reader, &self.shared.pattern, &self.clock) {
                    Ok(false) => {}
                    Ok(true) => steps.push((at, Step::Answered { keep: self.shared.load.keep_alive })),
                    Err(fault) => steps.push((at, Step::Failed(fault))),
                }
            }
            self.lanes.put(at, lane);
        }
        self.woken = woken;
    }

    /// Ends the failed request of a lane, but keeps its connection.
    pub(super) fn leave_stream(&mut self, at: usize, fault: Fault, exchange: Option<&Exchange>) {
        let Some(lane) = self.lanes.get_mut(at) else { return };
        let Carrier::Stream(stream) = &mut lane.carrier else { return };
        stream.cancel();
        let link = stream.link;
        let Some(exchange) = exchange else { return self.close(at) };
        self.rest_link(link);
        // The link must tell the server that the request was cancelled.
        self.touch(link);
        let is_silent = self.links.get(link).is_some_and(|link| link.heard_ns < exchange.record.start_ns);
        // The next request must not wait for a connection that may be dead.
        if fault == Fault::Timeout && is_silent {
            self.retire(link);
        }
        self.rest(at, self.shared.load.keep_alive && exchange.job.calls == 0);
    }

    /// Moves a request to another connection, because its own accepts no more requests.
    fn move_on(&mut self, at: usize) {
        let Some(lane) = self.lanes.get_mut(at) else { return };
        let Some(exchange) = lane.exchange.take() else { return };
        let origin = lane.origin;
        let Carrier::Stream(stream) = &mut lane.carrier else { return };
        let (link, onward) = (stream.link, stream.onward.take());
        self.rest_link(link);
        self.close(at);
        self.retire(link);
        let now = self.clock.now();
        self.under_way_ended(now);
        let Exchange { job, record, hops, moves, .. } = exchange;
        // A session cannot change its connection.
        let lane = if moves >= MOVES_MAX || job.calls > 0 {
            Err(Fault::GoAway)
        } else {
            match self.idle[origin].pop() {
                Some(at) => Ok(at),
                None => self.connect(origin, now),
            }
        };
        match lane {
            Ok(at) => {
                self.put(at, job, record, onward.as_ref().map(|url| (url, hops)), now);
                if let Some(exchange) = self.lanes.get_mut(at).and_then(|lane| lane.exchange.as_mut()) {
                    exchange.moves = moves + 1;
                }
            }
            Err(fault) => {
                // The remaining requests of the session.
                self.report.unsent += u64::from(job.calls.saturating_sub(1));
                self.end_job(Record { fault: Some(fault), end_ns: now, ..record });
            }
        }
    }

    /// Ends a connection and every request on it.
    fn end_link(&mut self, at: usize, fault: Fault) {
        let Some(link) = self.links.get(at) else { return };
        let lanes = link.lanes.clone();
        let serial = self.links.serial(at);
        for lane in lanes {
            // The last lane removes the link, and another link may then occupy the slot.
            let is_its = self.lanes.get(lane).is_some_and(|lane| lane.link() == Some(at));
            if is_its && self.links.is_there(at, serial) {
                self.fail(lane, fault);
            }
        }
    }

    /// Stops new requests on a connection. It ends with its last request.
    pub(super) fn retire(&mut self, at: usize) {
        let Some(link) = self.links.get_mut(at) else { return };
        if std::mem::replace(&mut link.is_retired, true) {
            return;
        }
        self.open -= 1;
        let lanes = link.lanes.clone();
        self.close_idle(&lanes, usize::MAX);
    }

    /// Closes lanes above the server's limit of concurrent requests. In an open loop, due requests then use
    /// another connection. In a closed loop the lanes stay, and their requests wait, because no other user
    /// would send them.
    fn fit(&mut self, at: usize) {
        let Some(link) = self.links.get(at) else { return };
        let (allowed, asked) = (link.streams_allowed(), self.streams());
        if !link.is_ready() || allowed >= asked {
            return;
        }
        let least = self.report.streams_allowed.get_or_insert(u64::MAX);
        *least = (*least).min(allowed as u64);
        let surplus = link.lanes.len().saturating_sub(allowed);
        if surplus > 0 && self.shared.load.mode.has_schedule() {
            let lanes = link.lanes.clone();
            self.close_idle(&lanes, surplus);
        }
    }

    /// Closes up to `count` of these lanes that have no request.
    fn close_idle(&mut self, lanes: &[usize], mut count: usize) {
        for lane in lanes {
            if count > 0 && self.lanes.get(*lane).is_some_and(|lane| lane.exchange.is_none()) {
                self.close(*lane);
                count -= 1;
            }
        }
    }

    /// Returns true if a lane may take another request.
    pub(super) fn may_stay(&self, lane: &Lane) -> bool {
        let Some(link) = lane.link().and_then(|at| self.links.get(at)) else { return true };
        let has_room = link.lanes.len() <= link.streams_allowed() || !self.shared.load.mode.has_schedule();
        !link.is_retired && (has_room || !link.is_ready())
    }

    /// Returns a connection whose lanes have no requests.
    pub(super) fn idle_link(&self) -> Option<usize> {
        let mut idle = self.idle.iter().flatten().filter_map(|at| self.lanes.get(*at)?.link());
        idle.find(|at| self.links.get(*at).is_some_and(|link| link.busy == 0))
    }

    /// Removes a closed lane from its connection. The last lane closes the connection.
    pub(super) fn leave_link(&mut self, at: usize, lane: usize) {
        let Some(link) = self.links.get_mut(at) else { return };
        link.lanes.retain(|other| *other != lane);
        if !link.lanes.is_empty() {
            return;
        }
        if !link.is_retired {
            self.open -= 1;
        }
        self.links.take(at);
        self.links.release(at);
    }
}
