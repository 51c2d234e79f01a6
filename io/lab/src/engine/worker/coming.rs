//! Events: connections that stand, bytes that come, time that is over.

use rustix::event::epoll::EventFlags;

use super::super::connection::{Connection, Phase, Received};
use super::{Step, Worker};
use crate::record::Fault;

impl Worker<'_> {
    pub(super) fn is_there(&self, at: usize, serial: u32) -> bool {
        self.slots.get(at).is_some_and(|slot| slot.serial == serial && slot.connection.is_some())
    }

    pub(super) fn on_event(&mut self, at: usize, serial: u32, flags: EventFlags) {
        if !self.is_there(at, serial) {
            return;
        }
        let Some(mut connection) = self.slots[at].connection.take() else { return };
        let step = self.advance(&mut connection, flags);
        self.slots[at].connection = Some(connection);
        match step {
            Step::Pending => {}
            Step::Answered { keep } => self.finish(at, keep),
            Step::Failed(fault) => self.fail(at, fault),
            Step::Over => {
                self.report.closed_idle += 1;
                self.close(at);
            }
        }
    }

    pub(super) fn advance(&mut self, connection: &mut Connection, flags: EventFlags) -> Step {
        let advanced = (|| {
            if connection.phase == Phase::Connecting && !connection.poll_connect()? {
                return Ok(false);
            }
            if connection.phase == Phase::Handshaking && !connection.poll_handshake()? {
                return Ok(false);
            }
            Ok(true)
        })();
        match advanced {
            Ok(true) => {}
            Ok(false) => return Step::Pending,
            Err(fault) => return Step::Failed(fault),
        }
        if let Some(exchange) = &mut connection.exchange
            && connection.replies == 0
            && exchange.hops == 0
            && exchange.record.connected_ns.is_none()
        {
            exchange.record.connected_ns = Some(self.clock.now());
        }
        // A server may answer, and close, before it has read the whole body: the answer counts.
        let flushed = if connection.is_sending() { connection.flush(&self.shared.pattern) } else { Ok(()) };
        let hangup = flags.intersects(EventFlags::RDHUP | EventFlags::HUP | EventFlags::ERR);
        if hangup || flags.contains(EventFlags::IN) || flushed.is_err() {
            match self.receive(connection, hangup) {
                Step::Pending => {}
                step => return step,
            }
        }
        match flushed {
            Err(fault) => Step::Failed(fault),
            Ok(()) => Step::Pending,
        }
    }

    pub(super) fn receive(&mut self, connection: &mut Connection, hangup: bool) -> Step {
        loop {
            let discardable =
                connection.exchange.as_ref().map_or(0, |exchange| exchange.answer.discardable());
            let received = connection.receive(&mut self.scratch, discardable);
            let now = self.clock.now();
            if let Received::Bytes(..) | Received::Discarded(..) = received
                && let Some(since) = self.silent_since.replace(now)
            {
                self.report.silence_ns = self.report.silence_ns.max(now.saturating_sub(since));
            }
            let Some(exchange) = &mut connection.exchange else {
                // Nobody has asked for anything: the end, or bytes that belong to no answer.
                return if received == Received::Blocked { Step::Pending } else { Step::Over };
            };
            let (surplus, more) = match received {
                Received::Blocked => return Step::Pending,
                Received::Failed(fault) => return Step::Failed(fault),
                Received::End => {
                    exchange.record.end_ns = now;
                    return match exchange.answer.end() {
                        Ok(()) => Step::Answered { keep: false },
                        Err(fault) => Step::Failed(fault),
                    };
                }
                Received::Discarded(bytes, more) => {
                    exchange.answer.skip(bytes);
                    (0, more)
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
                let keep = exchange.answer.keep_alive && surplus == 0 && !hangup && !connection.is_sending();
                return Step::Answered { keep: keep && self.shared.load.keep_alive };
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
                .slots
                .get(at)
                .and_then(|slot| slot.connection.as_ref()?.exchange.as_ref())
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
