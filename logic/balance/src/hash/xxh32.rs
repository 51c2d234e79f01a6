//! The 32-bit xxHash (github.com/Cyan4973/xxHash, doc/xxhash_spec.md).

const PRIMES: [u32; 5] = [0x9e37_79b1, 0x85eb_ca77, 0xc2b2_ae3d, 0x27d4_eb2f, 0x1656_67b1];

/// Computes XXH32 of `bytes`.
pub(super) fn xxh32(bytes: &[u8], seed: u32) -> u32 {
    let [one, two, three, four, five] = PRIMES;
    let (stripes, rest) = bytes.as_chunks::<16>();
    let mut lanes =
        [seed.wrapping_add(one).wrapping_add(two), seed.wrapping_add(two), seed, seed.wrapping_sub(one)];
    for stripe in stripes {
        for (lane, word) in lanes.iter_mut().zip(stripe.as_chunks::<4>().0) {
            let sum = lane.wrapping_add(u32::from_le_bytes(*word).wrapping_mul(two));
            *lane = sum.rotate_left(13).wrapping_mul(one);
        }
    }
    let begun = if stripes.is_empty() {
        seed.wrapping_add(five)
    } else {
        let turned = lanes.into_iter().zip([1, 7, 12, 18]).map(|(lane, turns)| lane.rotate_left(turns));
        turned.fold(0, u32::wrapping_add)
    };
    let mut hash = begun.wrapping_add(bytes.len() as u32);
    let (words, tail) = rest.as_chunks::<4>();
    for word in words {
        let sum = hash.wrapping_add(u32::from_le_bytes(*word).wrapping_mul(three));
        hash = sum.rotate_left(17).wrapping_mul(four);
    }
    for byte in tail {
        let sum = hash.wrapping_add(u32::from(*byte).wrapping_mul(five));
        hash = sum.rotate_left(11).wrapping_mul(one);
    }
    hash = (hash ^ hash >> 15).wrapping_mul(two);
    hash = (hash ^ hash >> 13).wrapping_mul(three);
    hash ^ hash >> 16
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Expected values from libxxhash 0.8.
    #[test]
    fn known_values_of_an_addresses_length() {
        let counted: [u8; 16] = std::array::from_fn(|at| at as u8);
        assert_eq!(xxh32(&[0; 16], 0), 0x8e02_2b3a);
        assert_eq!(xxh32(&counted, 0), 0xb728_37f4);
        assert_eq!(xxh32(&counted, 0x1234_5678), 0x9f4c_1ee9);
    }

    /// The first two values are from xxHash's documentation. The others were computed from its specification,
    /// independently of this code (tests/golden/work-out).
    #[test]
    fn texts_of_every_kind_of_length() {
        let known = [
            ("", 0x02cc_5d05),
            ("abc", 0x32d1_53ff),
            ("cache-0", 0x70a8_b700),
            ("web-1.example:8080", 0x780e_706e),
            ("a server with a name of more than two stripes", 0xe632_f5bf),
        ];
        for (text, hash) in known {
            assert_eq!(xxh32(text.as_bytes(), 0), hash, "{text}");
        }
    }
}
