use std::sync::Arc;
use std::sync::atomic::Ordering::{Relaxed, SeqCst};
use std::sync::atomic::{AtomicU32, AtomicU64};

use arc_swap::ArcSwapOption;

use crate::bounded_load::TotalLoad;
use crate::measure::Moment;
use crate::tournament::Tournament;

/// What all rosters of one pool share, old and new: where the newest keys are.
///
/// A worker may go on with an old roster for a moment after a new one was made. What it counts in that moment must
/// reach the newest keys too, or a server would look busier or idler than it is until its next request.
#[derive(Debug, Default)]
pub(crate) struct Hub {
    newest: AtomicU64,
    tournament: ArcSwapOption<Tournament>,
    turns: Turns,
    total_load: TotalLoad,
    clock_ms: AtomicU64,
}

/// Numbers the requests of a pool, so that of two equally loaded servers the one that waits longer is known.
#[derive(Debug)]
#[repr(align(128))]
pub(crate) struct Turns(AtomicU32);

impl Hub {
    /// Makes `tournament` the one that every change reaches from now on.
    pub(crate) fn publish(&self, generation: u64, tournament: Option<Arc<Tournament>>) {
        self.tournament.store(tournament);
        self.newest.store(generation, SeqCst);
    }

    /// The newest keys, unless they are those of `generation`.
    pub(crate) fn newer_than(&self, generation: u64) -> Option<Arc<Tournament>> {
        if self.newest.load(SeqCst) == generation { None } else { self.tournament.load_full() }
    }

    pub(crate) fn turns(&self) -> &Turns {
        &self.turns
    }

    pub(crate) fn total_load(&self) -> &TotalLoad {
        &self.total_load
    }

    /// It is at least so late. Only called where keys depend on the time.
    pub(crate) fn set_clock(&self, now_ms: u64) {
        // Written once a millisecond, read much more often.
        if self.clock_ms.load(Relaxed) < now_ms {
            self.clock_ms.fetch_max(now_ms, Relaxed);
        }
    }

    /// The latest time that was told, and the number of requests given out.
    pub(crate) fn moment(&self) -> Moment {
        Moment { now_ms: self.clock_ms.load(Relaxed), picks: self.turns.0.load(Relaxed) }
    }
}

impl Default for Turns {
    fn default() -> Self {
        Self(AtomicU32::new(1))
    }
}

impl Turns {
    /// The next number. 0 says that they begin anew, and that everyone's old ones are to be forgotten.
    pub(crate) fn next(&self) -> u32 {
        self.0.fetch_add(1, SeqCst)
    }

    /// Counting from `turn` on.
    #[cfg(test)]
    pub(crate) fn from(turn: u32) -> Self {
        Self(AtomicU32::new(turn))
    }
}
