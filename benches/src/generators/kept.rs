//! Accuracy of a load generator's rate.

use serde::Serialize;

/// Accuracy of a generator's rate, seen from the server.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub(super) struct Kept {
    /// Share of the expected requests that arrived.
    pub(super) sent: f64,
    /// Share of the arrived requests that came more than [`LATE_NS`] after their due time.
    pub(super) late: f64,
    /// Longest delay in milliseconds.
    pub(super) late_max_ms: f64,
}

/// Delay in nanoseconds above which a request counts as late, as in `weir load`.
const LATE_NS: f64 = 1e6;

impl Kept {
    /// Computes the accuracy from the arrival times in nanoseconds. `expected` is the number of requests that
    /// should have arrived at this rate.
    ///
    /// The generator's start is unknown, so the schedule is placed such that no request is early. A generator
    /// that is too fast therefore scores as badly as one that is too slow. One with a constant delay scores
    /// well.
    pub(super) fn of(arrivals: &mut [u64], rate_per_s: f64, expected: u64) -> Self {
        arrivals.sort_unstable();
        let Some(first) = arrivals.first().copied() else {
            return Self { sent: 0.0, late: 1.0, late_max_ms: 0.0 };
        };
        let period_ns = 1e9 / rate_per_s;
        let after = (0_u32..).zip(arrivals.iter());
        let after: Vec<f64> =
            after.map(|(at, time)| (time - first) as f64 - f64::from(at) * period_ns).collect();
        let begun = after.iter().copied().fold(f64::INFINITY, f64::min);
        let late = after.iter().filter(|after| **after - begun > LATE_NS).count();
        let longest = after.iter().copied().fold(f64::NEG_INFINITY, f64::max) - begun;
        Self {
            sent: after.len() as f64 / expected.max(1) as f64,
            late: late as f64 / after.len() as f64,
            late_max_ms: longest / 1e6,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    #[test]
    fn an_even_rate_is_kept_whenever_it_began() {
        let mut arrivals: Vec<u64> = (0..1_000).rev().map(|at| 77 * MS + at * MS).collect();
        assert_eq!(Kept::of(&mut arrivals, 1_000.0, 1_000), Kept { sent: 1.0, late: 0.0, late_max_ms: 0.0 });
    }

    #[test]
    fn who_stood_still_for_a_while_was_late_meanwhile() {
        // No request arrives from 100 ms to 150 ms, then all at once.
        let mut arrivals: Vec<u64> =
            (0..1_000).map(|at| if (100..150).contains(&at) { 150 * MS } else { at * MS }).collect();
        let kept = Kept::of(&mut arrivals, 1_000.0, 1_000);
        assert_eq!((kept.sent, kept.late_max_ms), (1.0, 50.0));
        assert!((kept.late - 0.049).abs() < 1e-9, "{kept:?}");
    }

    #[test]
    fn who_drifts_is_late_whether_he_is_too_fast_or_too_slow() {
        for period in [990_000, 1_010_000] {
            let mut arrivals: Vec<u64> = (0..1_000).map(|at| at * period).collect();
            assert!(Kept::of(&mut arrivals, 1_000.0, 1_000).late > 0.8, "{period}");
        }
    }

    #[test]
    fn who_sends_half_has_sent_half() {
        let mut arrivals: Vec<u64> = (0..500).map(|at| at * 2 * MS).collect();
        assert_eq!(Kept::of(&mut arrivals, 1_000.0, 1_000).sent, 0.5);
        assert_eq!(Kept::of(&mut [], 1_000.0, 1_000).sent, 0.0);
    }
}
