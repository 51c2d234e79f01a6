//! The measurement of one request.

use std::sync::Arc;

use crate::{Roster, ServerLoad};

/// Measures one request at its server, for the pool's algorithm. Does nothing if the algorithm uses no
/// measurements.
///
/// [`Roster::watch`] creates it. The caller reports the response's head, moved bytes and, in any case, the
/// end.
#[derive(Debug, Clone, Copy)]
pub struct Watch {
    slot: usize,
    wants: Wants,
    begun_ms: u64,
    is_waiting: bool,
    has_answer: bool,
    moved_bytes: u64,
}

/// Measurements that an algorithm needs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Wants {
    /// The time until the response's head.
    pub(crate) head: bool,
    /// The time until the last byte.
    pub(crate) whole: bool,
    /// The time for which requests have been waiting: until the head if that is measured, else until the end.
    pub(crate) waiting: bool,
    /// The round trip time, with the decay time of its average in milliseconds.
    pub(crate) round_trip_decay_ms: Option<u64>,
    /// Bytes in both directions.
    pub(crate) bytes: bool,
}

impl Wants {
    /// Returns true if any measurement is needed.
    pub(crate) fn anything(self) -> bool {
        self != Self::default()
    }
}

impl Watch {
    /// Starts to measure a request that has just begun.
    pub(crate) fn new(slot: usize, wants: Wants, load: &ServerLoad, now_ms: u64) -> Self {
        let is_waiting = wants.waiting && load.measures().waiting.begin(now_ms);
        Self { slot, wants, begun_ms: now_ms, is_waiting, has_answer: false, moved_bytes: 0 }
    }

    /// Creates a watch that measures nothing.
    pub(crate) fn off(slot: usize) -> Self {
        Self {
            slot,
            wants: Wants::default(),
            begun_ms: 0,
            is_waiting: false,
            has_answer: false,
            moved_bytes: 0,
        }
    }

    /// Returns true if it measures anything; else the calls below are unnecessary.
    #[inline]
    pub fn is_on(&self) -> bool {
        self.wants.anything()
    }

    /// Records the arrival of the response's head; later heads are ignored.
    ///
    /// `round_trip_us` is from the request's last byte to the response's first byte. Without `counts` the
    /// response is a failure and is not measured; otherwise a server that fails fast would look fast.
    pub fn answered(
        &mut self,
        roster: &Roster,
        load: &Arc<ServerLoad>,
        now_ms: u64,
        round_trip_us: u64,
        counts: bool,
    ) {
        if !self.is_on() || std::mem::replace(&mut self.has_answer, true) {
            return;
        }
        let measures = load.measures();
        if let Some(decay_ms) = self.wants.round_trip_decay_ms.filter(|_| counts) {
            measures.peak.add(round_trip_us, now_ms, decay_ms);
        }
        if self.wants.head {
            if counts {
                measures.head.add(now_ms.saturating_sub(self.begun_ms));
            }
            self.stop_waiting(load);
        }
        roster.measured(self.slot, load, now_ms);
    }

    /// Records that no response came within `waited_us` of the request's last byte, and that another server
    /// was faster.
    ///
    /// The response would have taken at least this long. That counts if it exceeds the measurements of the
    /// server.
    pub fn overtaken(&mut self, roster: &Roster, load: &Arc<ServerLoad>, now_ms: u64, waited_us: u64) {
        if !self.is_on() || std::mem::replace(&mut self.has_answer, true) {
            return;
        }
        let (measures, waited_ms) = (load.measures(), now_ms.saturating_sub(self.begun_ms));
        if let Some(decay_ms) = self.wants.round_trip_decay_ms {
            measures.peak.add_at_least(waited_us, now_ms, decay_ms);
        }
        if self.wants.head {
            measures.head.add_at_least(waited_ms);
        }
        if self.wants.whole {
            measures.whole.add_at_least(waited_ms);
        }
        self.stop_waiting(load);
        roster.measured(self.slot, load, now_ms);
    }

    /// Records the bytes moved in both directions since the request began.
    pub fn moved(&mut self, roster: &Roster, load: &Arc<ServerLoad>, now_ms: u64, bytes: u64) {
        let more = bytes.saturating_sub(self.moved_bytes);
        if !self.wants.bytes || more == 0 {
            return;
        }
        self.moved_bytes = bytes;
        load.measures().traffic.add(more, now_ms);
        roster.measured(self.slot, load, now_ms);
    }

    /// Records the arrival of the response's last byte.
    pub fn completed(&mut self, roster: &Roster, load: &Arc<ServerLoad>, now_ms: u64, counts: bool) {
        if self.wants.whole && counts {
            load.measures().whole.add(now_ms.saturating_sub(self.begun_ms));
            roster.measured(self.slot, load, now_ms);
        }
    }

    /// Ends the measurement, whatever the result. Call it just before [`Roster::end`], which updates the
    /// server's key.
    #[inline]
    pub fn end(&mut self, load: &ServerLoad) {
        self.stop_waiting(load);
    }

    #[inline]
    fn stop_waiting(&mut self, load: &ServerLoad) {
        if std::mem::take(&mut self.is_waiting) {
            load.measures().waiting.end(self.begun_ms);
        }
    }
}
