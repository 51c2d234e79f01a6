use std::cmp::Ordering;

use super::SIGNIFICANT;
use super::bootstrap::Estimate;
use super::paired::Difference;

/// What a comparison comes to, when differences within a margin do not matter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// The first's value is less, beyond chance and by more than the margin.
    Less,
    /// It is more, beyond chance and by more than the margin.
    More,
    /// Whatever the difference is, it is within the margin.
    Equivalent,
    /// None of these could be shown: chance may have made the difference, or it may be within the margin or beyond.
    Undecided,
}

impl Difference {
    /// What it comes to beside `margin` (0.05 = 5 percent, by whoever is divided), with the probability that is left after
    /// correction for how many comparisons were made.
    ///
    /// A difference needs both: it is beyond chance in one direction ([`Difference::direction`]), and the whole interval of the ratio lies
    /// outside 1 / (1 + margin) to 1 + margin (a minimum-effect test: Murphy and Myors, 1999). The two are equivalent if the
    /// whole interval lies inside (Schuirmann's two one-sided tests, 1987; its level is that of the interval, stricter than the usual
    /// 90 percent); the range of too few values is no interval for that. With a margin of 0 what is beyond chance is a difference.
    ///
    /// Correction is for calling somebody different at all. Where an interval lies beside the margin is of this comparison alone: of two who
    /// differ by just the margin, one is said to differ by more in at most 2.5 percent of the plays, and to differ by less in as many.
    ///
    /// So an outcome turns on where an interval lies beside two fixed points, away from 1 where those who are alike are found: that
    /// one play says "less" and another "equivalent" takes two intervals that do not even touch.
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
