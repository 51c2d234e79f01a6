//! The fraction of a server's weight that counts.

use serde::Serialize;

/// Fraction of a server's weight that counts right now. Slow start, the server's agent, subsets and zones set
/// it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct Portion(u32);

const WHOLE: u32 = 1_000;

impl Portion {
    /// The whole weight.
    pub const WHOLE: Self = Self(WHOLE);
    /// Ten times the weight.
    pub const MAX: Self = Self(10 * WHOLE);

    /// Creates a portion from thousandths, at least 1. A server that must get nothing is ineligible instead.
    pub const fn thousandths(thousandths: u32) -> Self {
        match thousandths {
            0 => Self(1),
            more if more > Self::MAX.0 => Self::MAX,
            some => Self(some),
        }
    }

    /// Creates a portion from percent, at least a tenth of one percent.
    pub const fn percent(percent: u32) -> Self {
        Self::thousandths(percent.saturating_mul(WHOLE / 100))
    }

    /// Creates a portion from a share between 0 and 1.
    pub fn share(share: f64) -> Self {
        Self::thousandths((share * f64::from(WHOLE)).round() as u32)
    }

    /// Multiplies two portions.
    pub fn of(self, other: Self) -> Self {
        Self::thousandths((u64::from(self.0) * u64::from(other.0) / u64::from(WHOLE)) as u32)
    }

    /// Returns the portion in thousandths.
    pub const fn get(self) -> u32 {
        self.0
    }

    /// Returns the part of `weight` that counts, rounded up.
    pub const fn weight(self, weight: u32) -> u32 {
        weight.saturating_mul(self.0).div_ceil(WHOLE)
    }

    /// Returns the part of a limit on concurrent requests that counts, rounded down. It is at least 1, unless
    /// the limit is 0.
    pub fn of_limit(self, limit: u32) -> u32 {
        let part = u64::from(limit) * u64::from(self.0) / u64::from(WHOLE);
        u32::try_from(part).unwrap_or(u32::MAX).max(limit.min(1))
    }

    /// Returns the portion in percent, rounded up.
    pub const fn as_percent(self) -> u32 {
        self.0.div_ceil(WHOLE / 100)
    }
}

impl Default for Portion {
    fn default() -> Self {
        Self::WHOLE
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_portion_is_never_nothing_and_never_too_much() {
        assert_eq!(Portion::percent(0).get(), 1);
        assert_eq!(Portion::percent(u32::MAX), Portion::MAX);
        assert_eq!(Portion::share(-1.0).get(), 1);
        assert_eq!(Portion::share(f64::NAN).get(), 1);
        assert_eq!(Portion::percent(10).of(Portion::percent(50)), Portion::percent(5));
        assert_eq!(Portion::percent(75).of(Portion::WHOLE), Portion::percent(75));
        assert_eq!(Portion::thousandths(1).as_percent(), 1);
    }

    #[test]
    fn a_part_of_a_limit_lets_at_least_one_pass() {
        let limits = |limit| [1, 10, 55, 100].map(|percent| Portion::percent(percent).of_limit(limit));
        assert_eq!(limits(100), [1, 10, 55, 100]);
        assert_eq!(limits(7), [1, 1, 3, 7]);
        assert_eq!((limits(1), limits(0)), ([1; 4], [0; 4]));
        assert_eq!(Portion::MAX.of_limit(u32::MAX), u32::MAX);
    }
}
