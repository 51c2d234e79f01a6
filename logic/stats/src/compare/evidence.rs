//! The result of a significance test.

use std::cmp::Ordering;

/// The result of a significance test of two samples.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Evidence {
    /// Probability that chance causes such a difference, in either direction (p-value).
    pub probability: f64,
    /// Order of the first sample relative to the second, by the statistic that the test uses. Their medians
    /// may be in the other order.
    pub direction: Ordering,
}

impl Evidence {
    /// Result for a test without data.
    pub(super) const NONE: Self = Self { probability: 1.0, direction: Ordering::Equal };
}
