//! Finagle's peak-sensitive moving average.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Finagle's peak-sensitive moving average of round trip times. A time above the average replaces it at once.
/// A time below pulls it down, the more the longer ago it last changed. Reading also changes it: it falls
/// towards 0 with time, as if a response had come in no time.
///
/// The upper half holds milliseconds as an `f32`, the lower half the time of the last change, so that both
/// change together. The time wraps after 49 days: a server without a request for longer looks fresher than it
/// is.
#[derive(Debug, Default)]
pub(crate) struct PeakAverage(AtomicU64);

/// An average as it was when it was read.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Seen(u64);

/// Smallest measured time: 0 means no measurement.
const RTT_MS_MIN: f32 = 0.001;

impl PeakAverage {
    pub(crate) fn add(&self, rtt_us: u64, now_ms: u64, decay_ms: u64) {
        let rtt_ms = (rtt_us as f32 / 1_000.0).max(RTT_MS_MIN);
        let _ = self.0.fetch_update(Relaxed, Relaxed, |packed| {
            let (average, kept) = unpack(packed, now_ms, decay_ms);
            let next = if rtt_ms > average { rtt_ms } else { average * kept + rtt_ms * (1.0 - kept) };
            Some(pack(next, now_ms))
        });
    }

    /// Adds a time that is only known to be at least `rtt_us`. It is ignored if it does not exceed the
    /// average.
    pub(crate) fn add_at_least(&self, rtt_us: u64, now_ms: u64, decay_ms: u64) {
        let rtt_ms = (rtt_us as f32 / 1_000.0).max(RTT_MS_MIN);
        let longer = |packed| {
            let (average, kept) = unpack(packed, now_ms, decay_ms);
            (packed == 0 || rtt_ms > average * kept).then(|| pack(rtt_ms, now_ms))
        };
        let _ = self.0.fetch_update(Relaxed, Relaxed, longer);
    }

    /// Reads the average for [`PeakAverage::ms`].
    ///
    /// It is separate because `ms` may write with a locked instruction, which waits for all pending reads.
    /// With the reads first, the averages of several servers are fetched from memory at the same time.
    pub(crate) fn seen(&self) -> Seen {
        Seen(self.0.load(Relaxed))
    }

    /// Returns milliseconds as of `now_ms`; `None` = nothing was measured.
    pub(crate) fn ms(&self, Seen(packed): Seen, now_ms: u64, decay_ms: u64) -> Option<f32> {
        if packed == 0 {
            return None;
        }
        let (average, kept) = unpack(packed, now_ms, decay_ms);
        if kept < 1.0 {
            // If another worker has changed it meanwhile, it is up to date anyway.
            let _ = self.0.compare_exchange(packed, pack(average * kept, now_ms), Relaxed, Relaxed);
        }
        Some(average * kept)
    }
}

fn pack(average: f32, now_ms: u64) -> u64 {
    u64::from(average.to_bits()) << 32 | (now_ms & u64::from(u32::MAX))
}

/// Returns the average as of its last change, and the part of it that is left since then: e^(-elapsed /
/// decay).
fn unpack(packed: u64, now_ms: u64, decay_ms: u64) -> (f32, f32) {
    let elapsed = (now_ms as u32).wrapping_sub(packed as u32);
    // Workers read the clock at different moments, so one may be a little before the last change.
    let elapsed = if elapsed > u32::MAX / 2 { 0 } else { elapsed };
    (f32::from_bits((packed >> 32) as u32), (-(elapsed as f32) / decay_ms.max(1) as f32).exp())
}

#[cfg(test)]
mod tests {
    use super::*;

    const DECAY_MS: u64 = 10_000;

    fn close(a: Option<f32>, b: f32) -> bool {
        a.is_some_and(|a| (a - b).abs() <= b * 1e-4)
    }

    #[test]
    fn a_peak_counts_at_once_and_fades_with_time() {
        let average = PeakAverage::default();
        assert_eq!(average.ms(average.seen(), 5, DECAY_MS), None);
        average.add(20_000, 1_000, DECAY_MS);
        assert!(close(average.ms(average.seen(), 1_000, DECAY_MS), 20.0));
        average.add(500_000, 1_000, DECAY_MS);
        assert!(close(average.ms(average.seen(), 1_000, DECAY_MS), 500.0));
        // Ten seconds later the old average has decayed to 1/e.
        average.add(20_000, 11_000, DECAY_MS);
        let kept = (-1.0_f32).exp();
        assert!(close(average.ms(average.seen(), 11_000, DECAY_MS), 500.0 * kept + 20.0 * (1.0 - kept)));
    }

    #[test]
    fn without_requests_it_falls_towards_nothing() {
        let average = PeakAverage::default();
        average.add(100_000, 0, DECAY_MS);
        assert!(close(average.ms(average.seen(), 10_000, DECAY_MS), 100.0 * (-1.0_f32).exp()));
        assert!(average.ms(average.seen(), 200_000, DECAY_MS).is_some_and(|ms| ms < 1e-5));
    }

    #[test]
    fn a_worker_whose_clock_is_behind_changes_nothing_but_the_value() {
        let average = PeakAverage::default();
        average.add(10_000, 5_000, DECAY_MS);
        average.add(2_000, 4_999, DECAY_MS);
        assert!(close(average.ms(average.seen(), 4_999, DECAY_MS), 10.0));
    }

    #[test]
    fn a_time_of_at_least_so_much_counts_only_above_the_average() {
        let average = PeakAverage::default();
        average.add_at_least(50_000, 0, DECAY_MS);
        average.add_at_least(20_000, 0, DECAY_MS);
        assert!(close(average.ms(average.seen(), 0, DECAY_MS), 50.0));
        // The average has decayed to 50/e, so 20 ms exceed it.
        average.add_at_least(20_000, 10_000, DECAY_MS);
        assert!(close(average.ms(average.seen(), 10_000, DECAY_MS), 20.0));
    }

    #[test]
    fn an_answer_in_no_time_is_still_a_measurement() {
        let average = PeakAverage::default();
        average.add(0, 0, DECAY_MS);
        assert!(average.ms(average.seen(), 0, DECAY_MS).is_some());
    }
}
