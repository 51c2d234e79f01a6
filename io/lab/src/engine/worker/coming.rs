//! Handles events: established connections, received bytes, and timeouts.

use rustix::event::epoll::EventFlags;

use super::super::connection::{Connection, Received};
use super::super::lane::{Carrier, Exchange, Lane};
use super::links::LINK;
use super::{Step, Worker};
use crate::record::Fault;

impl Worker<'_> {
    /// Handles an event of the lane or the link with this index and serial number.
    pub(super) fn on_event(&mut self, at: usize, serial: u32, flags: EventFlags) {
        if at & LINK != 0 {
            return self.on_link_event(at & !LINK, serial, flags);
        }
        if !self.lanes.is_there(at, serial) {
            return;
        }
        let Some(mut lane) = self.lanes.take(at) else { return };
        let step = self.advance(&mut lane, flags);
        self.lanes.put(at, lane);
        match step {
            Step::Pending | Step::Unsent => {}
            Step::Answered { keep } => self.finish(at, keep),
            Step::Failed(fault) => self.fail(at, fault),
            Step::Over { unasked } => {
                self.report.closed_idle += u64::from(!unasked);
                self.report.unasked += u64::from(unasked);
                self.close(at);
            }
        }
    }

    fn advance(&mut self, lane: &mut Lane, flags: EventFlags) -> Step {
        let Lane { carrier, exchange, replies, .. } = lane;
        let Carrier::Connection(connection) = carrier else { return Step::Pending };
        match connection.poll_ready() {
            Ok(true) => {}
            Ok(false) => return Step::Pending,
            Err(fault) => return Step::Failed(fault),
        }
        if let Some(exchange) = exchange
            && *replies == 0
            && exchange.hops == 0
            && exchange.record.connected_ns.is_none()
        {
            exchange.record.connected_ns = Some(self.clock.now());
        }
        // A server may respond and close before it has read the whole body. Its response counts.
        let mut sent = 0;
        let is_sending = connection.is_sending();
        let flushed = if is_sending { connection.flush(&self.shared.pattern, &mut sent) } else { Ok(()) };
        if let Some(exchange) = exchange {
            exchange.record.bytes_out += sent;
        }
        let hangup = flags.intersects(EventFlags::RDHUP | EventFlags::HUP | EventFlags::ERR);
        if hangup || flags.contains(EventFlags::IN) || flushed.is_err() {
            match self.receive(connection, exchange, hangup) {
                Step::Pending => {}
                step => return step,
            }
        }
        match flushed {
            Err(fault) => Step::Failed(fault),
            Ok(()) => Step::Pending,
        }
    }

    /// Records that bytes arrived while requests are in progress.
    pub(super) fn hear(&mut self, now: u64) {
        if let Some(since) = &mut self.silent_since {
            self.report.silence_ns = self.report.silence_ns.max(now.saturating_sub(*since));
            *since = now;
        }
    }

    fn receive(
        &mut self,
        connection: &mut Connection,
        exchange: &mut Option<Exchange>,
        hangup: bool,
    ) -> Step {
        loop {
            let discardable = exchange.as_ref().map_or(0, |exchange| exchange.answer.discardable());
            let received = connection.receive(&mut self.scratch, discardable);
            let now = self.clock.now();
            if let Received::Bytes(..) | Received::Discarded(..) = received {
                self.hear(now);
            }
            let Some(exchange) = exchange.as_mut() else {
                // No request is in progress: the connection has ended, or the bytes belong to no response.
                return match received {
                    Received::Blocked => Step::Pending,
                    Received::Bytes(bytes, _) => {
                        Step::Over { unasked: !is_idle_timeout(&self.scratch[..bytes]) }
                    }
                    _ => Step::Over { unasked: false },
                };
            };
            let (surplus, more) = match received {
                Received::Blocked => return Step::Pending,
                Received::Failed(fault) => return Step::Failed(fault),
                Received::End => {
                    exchange.record.end_ns = now;
                    let ended = exchange.answer.end();
                    return match ended.and_then(|()| exchange.answer.compare(connection.sent())) {
                        Ok(()) => Step::Answered { keep: false },
                        Err(fault) => Step::Failed(fault),
                    };
                }
                Received::Discarded(bytes, more) => {
                    let surplus = bytes - exchange.answer.skip(bytes);
                    (usize::try_from(surplus).unwrap_or(usize::MAX), more)
                }
                Received::Bytes(bytes, more) => {
                    exchange.record.first_byte_ns.get_or_insert(now);
                    match exchange.answer.feed(&self.scratch[..bytes], &mut self.reader) {
                        Ok(taken) => (bytes - taken, more),
                        Err(fault) => return Step::Failed(fault),
                    }
                }
            };
            if exchange.answer.is_done() {
                exchange.record.end_ns = now;
                if surplus > 0 {
                    return Step::Failed(Fault::Surplus);
                }
                if let Err(fault) = exchange.answer.compare(connection.sent()) {
                    return Step::Failed(fault);
                }
                let keep = exchange.answer.keep_alive && !hangup && !connection.is_sending();
                // The server may close such a connection without an announcement.
                let closes = self.shared.targets[exchange.record.target as usize].1.closes;
                return Step::Answered { keep: keep && !closes && self.shared.load.keep_alive };
            }
            if !more && !hangup {
                return Step::Pending;
            }
        }
    }

    pub(super) fn time_out(&mut self) {
        let now = self.clock.now();
        while let Some((at_ns, at, id)) = self.deadlines.front().copied() {
            let has_ended = self
                .lanes
                .get(at)
                .and_then(|lane| lane.exchange.as_ref())
                .is_none_or(|exchange| exchange.id != id);
            if !has_ended && at_ns > now {
                return;
            }
            self.deadlines.pop_front();
            if !has_ended {
                self.fail(at, Fault::Timeout);
            }
        }
    }
}

/// Returns true if the bytes are a 408 with which the server closes an idle connection (RFC 9110 section
/// 15.5.9). Such a message is neither a response to a request nor a surplus.
fn is_idle_timeout(bytes: &[u8]) -> bool {
    bytes.starts_with(b"HTTP/1.") && bytes.get(8..12) == Some(b" 408")
}
