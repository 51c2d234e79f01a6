use std::sync::Arc;

use crate::{Roster, ServerLoad};

/// Measures one request at the server it was given to, for the algorithm of its pool. Where that goes by no
/// measurements, it does nothing.
///
/// From [`Roster::watch`]; tell it of the response's head, of bytes that have moved, and in any case of the end.
#[derive(Debug, Clone, Copy)]
pub struct Watch {
    slot: usize,
    wants: Wants,
    begun_ms: u64,
    is_waiting: bool,
    has_answer: bool,
    moved_bytes: u64,
}

/// What an algorithm wants to be measured.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Wants {
    /// The time until the response's head.
    pub(crate) head: bool,
    /// The time until the last byte.
    pub(crate) whole: bool,
    /// The time that requests have been waiting: until the head if that is wanted, else until the end.
    pub(crate) waiting: bool,
    /// The round trip time, fading within so many milliseconds.
    pub(crate) round_trip_decay_ms: Option<u64>,
    /// Bytes both ways.
    pub(crate) bytes: bool,
}

impl Wants {
    /// Whether anything is wanted.
    pub(crate) fn anything(self) -> bool {
        self != Self::default()
    }
}

impl Watch {
    /// For a request that has just been begun.
    pub(crate) fn new(slot: usize, wants: Wants, load: &ServerLoad, now_ms: u64) -> Self {
        let is_waiting = wants.waiting && load.measures().waiting.begin(now_ms);
        Self { slot, wants, begun_ms: now_ms, is_waiting, has_answer: false, moved_bytes: 0 }
    }

    /// Measures nothing.
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

    /// Whether it measures anything: else the calls below need not be made, but for nothing.
    #[inline]
    pub fn is_on(&self) -> bool {
        self.wants.anything()
    }

    /// The response's head has come (what comes after the first one is not counted); `round_trip_us` is from the request's last byte to the response's first. What
    /// `counts` as a failure is not measured, or a server that fails fast would look fast.
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

    /// Nothing of a response has come `waited_us` after the request's last byte, and nobody waits for it any longer: another server was
    /// faster. It would have taken at least as long, which counts where that is more than what is known of the server.
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

    /// So many bytes have been moved in both directions since the request began.
    pub fn moved(&mut self, roster: &Roster, load: &Arc<ServerLoad>, now_ms: u64, bytes: u64) {
        let more = bytes.saturating_sub(self.moved_bytes);
        if !self.wants.bytes || more == 0 {
            return;
        }
        self.moved_bytes = bytes;
        load.measures().traffic.add(more, now_ms);
        roster.measured(self.slot, load, now_ms);
    }

    /// The response's last byte has come.
    pub fn completed(&mut self, roster: &Roster, load: &Arc<ServerLoad>, now_ms: u64, counts: bool) {
        if self.wants.whole && counts {
            load.measures().whole.add(now_ms.saturating_sub(self.begun_ms));
            roster.measured(self.slot, load, now_ms);
        }
    }

    /// It is over, one way or another. Just before [`Roster::end`], which brings the server's key up to date.
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
