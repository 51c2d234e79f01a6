use std::cmp::Ordering;

/// What a test says of two samples.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Evidence {
    /// How likely chance alone makes such a difference, in either direction.
    pub probability: f64,
    /// By the figure that the probability is of, how the first sample stands to the second. A median may say otherwise.
    pub direction: Ordering,
}

impl Evidence {
    /// Of nothing nothing is shown.
    pub(super) const NONE: Self = Self { probability: 1.0, direction: Ordering::Equal };
}
