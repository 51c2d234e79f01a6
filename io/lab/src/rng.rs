//! Random numbers that repeat with the seed.

/// Sequence of random numbers that is the same for the same seed: SplitMix64 (Steele, Lea, Flood, 2014).
#[derive(Debug, Clone)]
pub(crate) struct Rng {
    state: u64,
}

const GAMMA: u64 = 0x9e37_79b9_7f4a_7c15;

impl Rng {
    pub(crate) fn new(seed: u64) -> Self {
        Self { state: mix(seed) }
    }

    /// Returns a number that is uniform over 64 bits.
    pub(crate) fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(GAMMA);
        mix(self.state)
    }

    /// Returns a number that is uniform over (0, 1], so that its logarithm is finite.
    pub(crate) fn unit(&mut self) -> f64 {
        unit(self.next())
    }

    /// Returns an exponentially distributed number with mean 1.
    pub(crate) fn exponential(&mut self) -> f64 {
        -self.unit().ln()
    }
}

/// Returns number `at` of a sequence without computing the earlier ones.
pub(crate) fn at(seed: u64, at: u64) -> u64 {
    mix(mix(seed).wrapping_add(at.wrapping_add(1).wrapping_mul(GAMMA)))
}

/// Converts 64 random bits to a number in (0, 1].
pub(crate) fn unit(random: u64) -> f64 {
    ((random >> 11) + 1) as f64 / (1_u64 << 53) as f64
}

fn mix(value: u64) -> u64 {
    let z = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_gives_the_same_sequence_in_order_or_by_place() {
        let mut rng = Rng::new(7);
        let first: Vec<u64> = (0..5).map(|_| rng.next()).collect();
        assert_eq!(first, (0..5).map(|place| at(7, place)).collect::<Vec<_>>());
        assert_ne!(first, (0..5).map(|place| at(8, place)).collect::<Vec<_>>());
    }

    #[test]
    fn exponential_times_have_the_mean_one() {
        let mut rng = Rng::new(1);
        let mean = (0..100_000).map(|_| rng.exponential()).sum::<f64>() / 100_000.0;
        assert!((mean - 1.0).abs() < 0.02, "{mean}");
    }
}
