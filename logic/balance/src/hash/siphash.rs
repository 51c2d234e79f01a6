//! SipHash-1-3 of one number, as in Linux's hsiphash.

/// Computes Linux's hsiphash of one 32-bit number on 64-bit machines. Both halves of the secret are `half`.
///
/// It is SipHash-1-3 (Aumasson, Bernstein: "SipHash: a fast short-input PRF", 2012) of the number's four
/// bytes, lowest first, cut to 32 bits.
pub(crate) fn hsiphash(number: u32, half: u64) -> u32 {
    const LENGTH_BYTES: u64 = 4;
    let mut state = [
        0x736f_6d65_7073_6575 ^ half,
        0x646f_7261_6e64_6f6d ^ half,
        0x6c79_6765_6e65_7261 ^ half,
        0x7465_6462_7974_6573 ^ half,
    ];
    let last = LENGTH_BYTES << 56 | u64::from(number);
    state[3] ^= last;
    round(&mut state);
    state[0] ^= last;
    state[2] ^= 0xff;
    (0..3).for_each(|_| round(&mut state));
    (state[0] ^ state[1] ^ state[2] ^ state[3]) as u32
}

fn round([v0, v1, v2, v3]: &mut [u64; 4]) {
    *v0 = v0.wrapping_add(*v1);
    *v1 = v1.rotate_left(13) ^ *v0;
    *v0 = v0.rotate_left(32);
    *v2 = v2.wrapping_add(*v3);
    *v3 = v3.rotate_left(16) ^ *v2;
    *v0 = v0.wrapping_add(*v3);
    *v3 = v3.rotate_left(21) ^ *v0;
    *v2 = v2.wrapping_add(*v1);
    *v1 = v1.rotate_left(17) ^ *v2;
    *v2 = v2.rotate_left(32);
}

#[cfg(test)]
#[allow(deprecated, reason = "the standard library's SipHash-2-4 has the same rounds and words")]
mod tests {
    use std::hash::{Hasher, SipHasher};

    use super::*;

    /// Computes SipHash-2-4, which has the same rounds but more of them.
    fn siphash_2_4(number: u32, half: u64) -> u64 {
        let mut state = [
            0x736f_6d65_7073_6575 ^ half,
            0x646f_7261_6e64_6f6d ^ half,
            0x6c79_6765_6e65_7261 ^ half,
            0x7465_6462_7974_6573 ^ half,
        ];
        let last = 4_u64 << 56 | u64::from(number);
        state[3] ^= last;
        (0..2).for_each(|_| round(&mut state));
        state[0] ^= last;
        state[2] ^= 0xff;
        (0..4).for_each(|_| round(&mut state));
        state[0] ^ state[1] ^ state[2] ^ state[3]
    }

    #[test]
    fn a_round_is_that_of_the_standard_library() {
        for number in [0, 1, 0x0a01_0203, u32::MAX] {
            let mut hasher = SipHasher::new_with_keys(7, 7);
            hasher.write(&number.to_le_bytes());
            assert_eq!(siphash_2_4(number, 7), hasher.finish());
        }
    }
}
