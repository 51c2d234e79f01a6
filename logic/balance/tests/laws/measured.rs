//! Compares algorithms that use measurements with the original formulas, written as loops.

#![allow(clippy::panic, clippy::unwrap_used, reason = "what is not there fails the test")]

mod bandwidth;
mod estimated_time;
mod peak_ewma;
mod response_time;

use std::sync::Arc;

use weir_balance::{
    Algorithm, MeasureOptions, Pick, PickInput, Picker, Roster, Scheduling, ServerLoad, Watch,
};

use crate::pool::Pool;

/// One worker with a pool in virtual time.
pub(crate) struct Rig {
    pub(crate) roster: Roster,
    picker: Picker,
    pub(crate) now_us: u64,
    random: u64,
}

/// A request in progress.
pub(crate) struct Request {
    pub(crate) slot: usize,
    pub(crate) begun_us: u64,
    load: Arc<ServerLoad>,
    watch: Watch,
}

impl Rig {
    pub(crate) fn new(algorithm: Algorithm, measure: MeasureOptions, weights: &[u32]) -> Self {
        let candidates = Pool::new(algorithm, weights).candidates;
        let roster = Roster::new(Scheduling { measure, ..algorithm.into() }, candidates, None);
        Self { roster, picker: Picker::new(0), now_us: 0, random: 0 }
    }

    pub(crate) fn pass_ms(&mut self, ms: u64) {
        self.now_us += ms * 1_000;
    }

    pub(crate) fn now_ms(&self) -> u64 {
        self.now_us / 1_000
    }

    /// Returns the server that a request would get now.
    pub(crate) fn pick(&mut self) -> usize {
        self.random += 1;
        let input = PickInput { random: self.random, now_ms: self.now_ms(), ..PickInput::default() };
        let Pick::Server(slot) = self.picker.pick(&self.roster, &input) else { panic!("nobody") };
        slot
    }

    /// Begins a request at the server picked for it.
    pub(crate) fn begin(&mut self) -> Request {
        let slot = self.pick();
        self.begin_at(slot)
    }

    pub(crate) fn begin_at(&mut self, slot: usize) -> Request {
        let watch = self.roster.watch(slot, self.now_ms());
        assert!(self.roster.try_begin(slot));
        let load = Arc::clone(&self.roster.candidate(slot).unwrap().load);
        Request { slot, begun_us: self.now_us, load, watch }
    }

    /// Ends a request whose whole response arrives now.
    pub(crate) fn end(&self, mut request: Request) {
        self.answer(&mut request, true);
        self.finish(request, true);
    }

    /// Ends a request after another server was faster.
    pub(crate) fn overtake(&self, mut request: Request) {
        let waited_us = self.now_us - request.begun_us;
        request.watch.overtaken(&self.roster, &request.load, self.now_ms(), waited_us);
        self.drop(request);
    }

    /// Records that the head of the response arrives now.
    pub(crate) fn answer(&self, request: &mut Request, counts: bool) {
        let took_us = self.now_us - request.begun_us;
        request.watch.answered(&self.roster, &request.load, self.now_ms(), took_us, counts);
    }

    /// Records that the last byte of the response arrives now, and ends the request.
    pub(crate) fn finish(&self, mut request: Request, counts: bool) {
        request.watch.completed(&self.roster, &request.load, self.now_ms(), counts);
        self.drop(request);
    }

    /// Ends a request without a response.
    pub(crate) fn drop(&self, mut request: Request) {
        request.watch.end(&request.load);
        self.roster.end(request.slot, &request.load);
    }

    pub(crate) fn moved(&self, request: &mut Request, bytes: u64) {
        request.watch.moved(&self.roster, &request.load, self.now_ms(), bytes);
    }

    pub(crate) fn active(&self, slot: usize) -> u64 {
        self.roster.candidate(slot).unwrap().load.active().into()
    }
}
