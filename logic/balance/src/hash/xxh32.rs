//! xxHash of 32 bits, for the one length that an IPv6 address has (github.com/Cyan4973/xxHash, doc/xxhash_spec.md).

const PRIMES: [u32; 3] = [0x9e37_79b1, 0x85eb_ca77, 0xc2b2_ae3d];

/// XXH32 of 16 bytes.
pub(super) fn xxh32_of_16(bytes: &[u8; 16], seed: u32) -> u32 {
    let [one, two, three] = PRIMES;
    let lanes =
        [seed.wrapping_add(one).wrapping_add(two), seed.wrapping_add(two), seed, seed.wrapping_sub(one)];
    let words = bytes.as_chunks::<4>().0.iter().map(|word| u32::from_le_bytes(*word));
    let round = |(lane, word): (u32, u32)| {
        lane.wrapping_add(word.wrapping_mul(two)).rotate_left(13).wrapping_mul(one)
    };
    let turns = [1, 7, 12, 18];
    let sum = lanes
        .into_iter()
        .zip(words)
        .map(round)
        .zip(turns)
        .fold(0_u32, |sum, (lane, turns)| sum.wrapping_add(lane.rotate_left(turns)));
    let mut hash = sum.wrapping_add(bytes.len() as u32);
    hash = (hash ^ hash >> 15).wrapping_mul(two);
    hash = (hash ^ hash >> 13).wrapping_mul(three);
    hash ^ hash >> 16
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As libxxhash 0.8 has them.
    #[test]
    fn known_values() {
        let counted = std::array::from_fn(|at| at as u8);
        assert_eq!(xxh32_of_16(&[0; 16], 0), 0x8e02_2b3a);
        assert_eq!(xxh32_of_16(&counted, 0), 0xb728_37f4);
        assert_eq!(xxh32_of_16(&counted, 0x1234_5678), 0x9f4c_1ee9);
    }
}
