//! Random numbers: mixing, sequences and ranges, computed from one number that the caller supplies.

/// Spreads `value` over all 64 bits: the output function of SplitMix64 (Steele, Lea, Flood: "Fast splittable
/// pseudorandom number generators", 2014). So one random number from the caller yields as many as are needed.
pub(crate) fn mix(value: u64) -> u64 {
    let mut z = value;
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// Returns the `index`th number of the sequence that starts at `seed`.
pub(crate) fn nth(seed: u64, index: u64) -> u64 {
    const GOLDEN_GAMMA: u64 = 0x9e37_79b9_7f4a_7c15;
    mix(seed.wrapping_add(GOLDEN_GAMMA.wrapping_mul(index.wrapping_add(1))))
}

/// Maps an evenly distributed `random` to 0..`limit` without a measurable remainder bias (Lemire: "Fast
/// random integer generation in an interval", 2019). Returns 0 if `limit` is 0.
pub(crate) fn below(random: u64, limit: u64) -> u64 {
    ((u128::from(random) * u128::from(limit)) >> 64) as u64
}
