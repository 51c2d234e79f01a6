//! Outcome of a comparison with a margin for irrelevant differences.

use std::cmp::Ordering;

use super::SIGNIFICANT;
use super::bootstrap::Estimate;
use super::paired::Difference;

/// The outcome of a comparison, in which differences within a margin are irrelevant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// The first value is smaller, significantly and by more than the margin.
    Less,
    /// The first value is larger, significantly and by more than the margin.
    More,
    /// The difference is within the margin.
    Equivalent,
    /// The data shows none of these: chance may have caused the difference, or it may be within or beyond the
    /// margin.
    Undecided,
}

impl Difference {
    /// Returns the outcome for `margin` (0.05 = 5 percent, in either direction of the ratio). `adjusted` is
    /// the p-value after the correction for the number of comparisons.
    ///
    /// A difference requires both of these (a minimum-effect test: Murphy and Myors, 1999):
    ///
    /// - It is significant in one direction ([`Difference::direction`]).
    /// - The whole interval of the ratio lies outside 1 / (1 + margin) to 1 + margin.
    ///
    /// The two are equivalent if the whole interval lies inside (Schuirmann's two one-sided tests, 1987). The
    /// level is that of the interval, stricter than the usual 90 percent. The range of too few values does
    /// not count as an interval. With a margin of 0, every significant difference is a difference.
    ///
    /// The correction applies only to the claim that the two differ. The position of the interval relative to
    /// the margin concerns this comparison alone. If two differ by exactly the margin, at most 2.5 percent of
    /// all repetitions report a larger difference, and as many report a smaller one.
    ///
    /// So the outcome depends on the position of the interval relative to two fixed points away from 1, the
    /// ratio of equal values. One repetition can report "less" and another "equivalent" only if their
    /// intervals do not even touch.
    pub fn outcome(&self, adjusted: f64, margin: f64) -> Outcome {
        let Estimate { low, high, .. } = self.ratio;
        let (least, most) = (1.0 / (1.0 + margin), 1.0 + margin);
        if !self.ratio.is_range() && low >= least && high <= most {
            return Outcome::Equivalent;
        }
        if adjusted >= SIGNIFICANT {
            return Outcome::Undecided;
        }
        match self.direction() {
            Ordering::Less if high < least => Outcome::Less,
            Ordering::Greater if low > most => Outcome::More,
            _ => Outcome::Undecided,
        }
    }
}
