//! Weights of servers.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The weight of a server: 0 to 256, as in HAProxy. A server with weight 0 gets no new requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "u32", into = "u32")]
pub struct Weight(u16);

/// The error for a number above [`Weight::MAX`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WeightOutOfRange(pub u32);

impl Weight {
    /// Weight of a server that gets no new requests.
    pub const ZERO: Self = Self(0);
    /// Weight of a server without a configured weight.
    pub const ONE: Self = Self(1);
    /// Maximum weight.
    pub const MAX: Self = Self(256);

    /// Creates a weight of 0 to 256.
    pub fn new(weight: u32) -> Result<Self, WeightOutOfRange> {
        u16::try_from(weight)
            .ok()
            .map(Self)
            .filter(|weight| *weight <= Self::MAX)
            .ok_or(WeightOutOfRange(weight))
    }

    /// Returns the weight as a number, 0 to 256.
    pub const fn get(self) -> u32 {
        self.0 as u32
    }
}

impl Default for Weight {
    fn default() -> Self {
        Self::ONE
    }
}

impl TryFrom<u32> for Weight {
    type Error = WeightOutOfRange;
    fn try_from(weight: u32) -> Result<Self, WeightOutOfRange> {
        Self::new(weight)
    }
}

impl From<Weight> for u32 {
    fn from(weight: Weight) -> Self {
        weight.get()
    }
}

impl fmt::Display for Weight {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Display for WeightOutOfRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "weight {} is out of range: 0 to {}", self.0, Weight::MAX)
    }
}

impl std::error::Error for WeightOutOfRange {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_weight_is_at_most_256() {
        assert_eq!(Weight::new(256).map(Weight::get), Ok(256));
        assert_eq!(Weight::new(257), Err(WeightOutOfRange(257)));
        assert_eq!(Weight::new(65_537), Err(WeightOutOfRange(65_537)));
    }
}
