//! State that all rosters of one pool share, old and new.

use std::sync::Arc;
use std::sync::atomic::Ordering::{Relaxed, SeqCst};
use std::sync::atomic::{AtomicU32, AtomicU64};

use arc_swap::ArcSwapOption;

use crate::bounded_load::TotalLoad;
use crate::measure::Moment;
use crate::tournament::Tournament;

/// State shared by all rosters of one pool; leads to the newest keys.
///
/// A worker may use an old roster for a moment after a new one was made. Requests that it counts in that
/// moment must also update the newest keys. Otherwise a server's key would be wrong until its next request.
#[derive(Debug, Default)]
pub(crate) struct Hub {
    newest: AtomicU64,
    tournament: ArcSwapOption<Tournament>,
    turns: Turns,
    total_load: TotalLoad,
    clock_ms: AtomicU64,
}

/// Numbers the requests of a pool. Of two equally loaded servers, the one with the lower number was chosen
/// longer ago.
#[derive(Debug)]
#[repr(align(128))]
pub(crate) struct Turns(AtomicU32);

impl Hub {
    /// Makes `tournament` the one that receives every change from now on.
    pub(crate) fn publish(&self, generation: u64, tournament: Option<Arc<Tournament>>) {
        self.tournament.store(tournament);
        self.newest.store(generation, SeqCst);
    }

    /// Returns the newest keys, unless they belong to `generation`.
    pub(crate) fn newer_than(&self, generation: u64) -> Option<Arc<Tournament>> {
        if self.newest.load(SeqCst) == generation { None } else { self.tournament.load_full() }
    }

    pub(crate) fn turns(&self) -> &Turns {
        &self.turns
    }

    pub(crate) fn total_load(&self) -> &TotalLoad {
        &self.total_load
    }

    /// Advances the clock to `now_ms` if that is later. Called only where keys depend on the time.
    pub(crate) fn set_clock(&self, now_ms: u64) {
        // Each millisecond writes the clock once; reads are much more frequent.
        if self.clock_ms.load(Relaxed) < now_ms {
            self.clock_ms.fetch_max(now_ms, Relaxed);
        }
    }

    /// Returns the latest time of the clock and the number of requests counted.
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
    /// Returns the next number. 0 means that the counter wrapped: all older numbers must be forgotten.
    pub(crate) fn next(&self) -> u32 {
        self.0.fetch_add(1, SeqCst)
    }

    /// Starts counting at `turn`.
    #[cfg(test)]
    pub(crate) fn from(turn: u32) -> Self {
        Self(AtomicU32::new(turn))
    }
}
