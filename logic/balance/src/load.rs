//! The current load of one server, shared by all workers.

use std::sync::atomic::{AtomicU32, Ordering::SeqCst};

use crate::bounded_load::TotalLoad;
use crate::measure::Measures;

/// Current work of one server, as counted by all workers together.
///
/// It has its own cache lines; otherwise workers of two servers would slow each other down (128 bytes: the
/// prefetcher fetches lines in pairs). Only [`Roster::begin`](crate::Roster::begin) and
/// [`Roster::end`](crate::Roster::end) change it, because they also update the keys of least-connections.
///
/// The fields that each request changes come first and share a line: with thousands of servers, no cache
/// holds all.
#[derive(Debug)]
#[repr(C, align(128))]
pub struct ServerLoad {
    /// Requests in flight. The highest bit says whether the pool's total includes them; one word holds both,
    /// so that no request can come in between.
    active: AtomicU32,
    /// Limit found by measurement.
    limit: AtomicU32,
    measures: Measures,
}

impl Default for ServerLoad {
    fn default() -> Self {
        Self { active: AtomicU32::new(0), limit: AtomicU32::new(u32::MAX), measures: Measures::default() }
    }
}

/// Bit of `active`: changes of this server's count also change the pool's total.
const IN_TOTAL: u32 = 1 << 31;

/// Amount added to the total in advance for a request that is about to be counted.
struct Foreseen<'a> {
    total: &'a TotalLoad,
    counted: bool,
}

impl Foreseen<'_> {
    /// Corrects the total, once it is known whether the request counts in it.
    fn settle(self, counts: bool) {
        match (self.counted, counts) {
            (true, false) => self.total.subtract(1),
            (false, true) => self.total.add(1),
            _ => {}
        }
    }
}

impl ServerLoad {
    /// Returns the requests (in TCP mode: connections) in flight.
    #[inline]
    pub fn active(&self) -> u32 {
        // SeqCst, here and below: the tournament relies on one order of all counts and keys (see
        // `tournament.rs`).
        self.active.load(SeqCst) & !IN_TOTAL
    }

    /// Returns the most requests in flight that the server takes, whatever its candidate permits; `u32::MAX`
    /// = no such limit. [`Roster::limit`](crate::Roster::limit) changes it.
    pub fn limit(&self) -> u32 {
        self.limit.load(SeqCst)
    }

    pub(crate) fn set_limit(&self, limit: u32) {
        self.limit.store(limit, SeqCst);
    }

    /// Returns the measurements that the pool's algorithm needs.
    pub(crate) fn measures(&self) -> &Measures {
        &self.measures
    }

    pub(crate) fn add_one(&self, total: &TotalLoad) {
        let foreseen = self.foresee(total);
        let before = self.active.fetch_add(1, SeqCst);
        foreseen.settle(before & IN_TOTAL != 0);
    }

    /// Counts one more request, unless the count would exceed `max`.
    #[inline]
    pub(crate) fn add_one_within(&self, max: u32, total: &TotalLoad) -> bool {
        let within = |active: u32| (active & !IN_TOTAL < max).then(|| active + 1);
        let foreseen = self.foresee(total);
        let before = self.active.fetch_update(SeqCst, SeqCst, within);
        foreseen.settle(before.is_ok_and(|before| before & IN_TOTAL != 0));
        before.is_ok()
    }

    /// Adds a request to the total before the server's count includes it.
    ///
    /// A request leaves the server's count before it leaves the total. So the total is never less than the
    /// sum of all counts, and some server is always within a bound computed from the total.
    fn foresee<'a>(&self, total: &'a TotalLoad) -> Foreseen<'a> {
        let counted = self.active.load(SeqCst) & IN_TOTAL != 0;
        if counted {
            total.add(1);
        }
        Foreseen { total, counted }
    }

    /// Counts one request less. A surplus call must not wrap around: a server with four billion requests
    /// would never be chosen again.
    #[inline]
    pub(crate) fn remove_one(&self, total: &TotalLoad) {
        let one_less = |active: u32| (active & !IN_TOTAL > 0).then(|| active - 1);
        let before = self.active.fetch_update(SeqCst, SeqCst, one_less);
        if before.is_ok_and(|before| before & IN_TOTAL != 0) {
            total.subtract(1);
        }
    }

    /// Includes the server's requests in the total from now on, those in flight as well, or excludes them.
    pub(crate) fn set_in_total(&self, wanted: bool, total: &TotalLoad) {
        if wanted {
            let before = self.active.fetch_or(IN_TOTAL, SeqCst);
            if before & IN_TOTAL == 0 {
                total.add(before);
            }
        } else {
            let before = self.active.fetch_and(!IN_TOTAL, SeqCst);
            if before & IN_TOTAL != 0 {
                total.subtract(before & !IN_TOTAL);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::mem::offset_of;

    use super::*;

    #[test]
    fn all_of_a_load_but_the_bytes_is_on_one_cache_line() {
        const LINE: usize = 64;
        assert_eq!((offset_of!(ServerLoad, active), align_of::<ServerLoad>() % LINE), (0, 0));
        assert!(offset_of!(ServerLoad, measures) + offset_of!(Measures, traffic) <= LINE);
    }
}
