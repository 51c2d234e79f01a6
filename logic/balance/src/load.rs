use std::sync::atomic::{AtomicU32, Ordering::SeqCst};

use crate::bounded_load::TotalLoad;
use crate::measure::Measures;

/// What one server has to do right now, as all workers together know it.
///
/// Alone on its cache lines, or two servers' workers would slow each other down (128 bytes: the prefetcher fetches
/// lines in pairs). Changed through [`Roster::begin`](crate::Roster::begin) and [`Roster::end`](crate::Roster::end)
/// only, which keep the keys that least-connections goes by in step.
///
/// What each request changes stands first and together: with thousands of servers no cache holds it.
#[derive(Debug)]
#[repr(C, align(128))]
pub struct ServerLoad {
    /// And in the highest bit, whether they are in their pool's total as well: in one word, so that no request can come in
    /// between.
    active: AtomicU32,
    /// A limit that was found by measurement.
    limit: AtomicU32,
    measures: Measures,
}

impl Default for ServerLoad {
    fn default() -> Self {
        Self { active: AtomicU32::new(0), limit: AtomicU32::new(u32::MAX), measures: Measures::default() }
    }
}

/// A change of this server's count goes into the pool's total, too.
const IN_TOTAL: u32 = 1 << 31;

/// What was added to the total for a request that is about to be counted.
struct Foreseen<'a> {
    total: &'a TotalLoad,
    counted: bool,
}

impl Foreseen<'_> {
    /// It has been counted as one of those that are in the total, or not.
    fn settle(self, counts: bool) {
        match (self.counted, counts) {
            (true, false) => self.total.subtract(1),
            (false, true) => self.total.add(1),
            _ => {}
        }
    }
}

impl ServerLoad {
    /// Requests (in TCP mode: connections) in flight.
    #[inline]
    pub fn active(&self) -> u32 {
        // SeqCst, here and below: the tournament relies on one order of all counts and keys (see its page).
        self.active.load(SeqCst) & !IN_TOTAL
    }

    /// With this many requests in flight it takes no more, whatever its candidate permits; `u32::MAX` = no such limit.
    /// [`Roster::limit`](crate::Roster::limit) changes it.
    pub fn limit(&self) -> u32 {
        self.limit.load(SeqCst)
    }

    pub(crate) fn set_limit(&self, limit: u32) {
        self.limit.store(limit, SeqCst);
    }

    /// What was measured, as far as the pool's algorithm asks for it.
    pub(crate) fn measures(&self) -> &Measures {
        &self.measures
    }

    pub(crate) fn add_one(&self, total: &TotalLoad) {
        let foreseen = self.foresee(total);
        let before = self.active.fetch_add(1, SeqCst);
        foreseen.settle(before & IN_TOTAL != 0);
    }

    /// Counts one more unless that would be more than `max`.
    #[inline]
    pub(crate) fn add_one_within(&self, max: u32, total: &TotalLoad) -> bool {
        let within = |active: u32| (active & !IN_TOTAL < max).then(|| active + 1);
        let foreseen = self.foresee(total);
        let before = self.active.fetch_update(SeqCst, SeqCst, within);
        foreseen.settle(before.is_ok_and(|before| before & IN_TOTAL != 0));
        before.is_ok()
    }

    /// A request is in the total before it is in the server's count, and leaves that first: so the total is never less than the sum of
    /// all, and somebody is always within a bound that comes from it.
    fn foresee<'a>(&self, total: &'a TotalLoad) -> Foreseen<'a> {
        let counted = self.active.load(SeqCst) & IN_TOTAL != 0;
        if counted {
            total.add(1);
        }
        Foreseen { total, counted }
    }

    /// One too many must not wrap around: a server with four billion requests would never be chosen again.
    #[inline]
    pub(crate) fn remove_one(&self, total: &TotalLoad) {
        let one_less = |active: u32| (active & !IN_TOTAL > 0).then(|| active - 1);
        let before = self.active.fetch_update(SeqCst, SeqCst, one_less);
        if before.is_ok_and(|before| before & IN_TOTAL != 0) {
            total.subtract(1);
        }
    }

    /// From now on its requests, those in flight included, are in the total; or they are not.
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
