//! HAProxy's hash functions for keys.

use std::fmt;

use serde::Serialize;

use super::crc32::crc32;

/// Function that turns the bytes of a key into a number: HAProxy's functions (hash-type, hash.c).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum HashFunction {
    /// The function of the sdbm database; HAProxy's default.
    #[default]
    Sdbm,
    /// Dan Bernstein's function: times 33, plus the byte.
    Djb2,
    /// Worktile's function, with rotations that depend on the bytes.
    Wt6,
    /// CRC-32 as used by Ethernet (IEEE 802.3); also NGINX's function.
    Crc32,
    /// No hash: the key is a decimal number (HAProxy's `none`).
    #[serde(rename = "none")]
    Number,
}

/// Hash of some bytes, and their number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Digest {
    /// The function's value.
    pub hash: u32,
    /// Number of bytes. It allows a CRC to be continued as if the bytes were there.
    pub bytes: u32,
}

impl HashFunction {
    /// All functions.
    pub const ALL: [Self; 5] = [Self::Sdbm, Self::Djb2, Self::Wt6, Self::Crc32, Self::Number];

    /// Returns the name in config.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Sdbm => "sdbm",
            Self::Djb2 => "djb2",
            Self::Wt6 => "wt6",
            Self::Crc32 => "crc32",
            Self::Number => "none",
        }
    }

    /// Hashes `bytes`.
    pub fn digest(self, bytes: &[u8]) -> Digest {
        let hash = match self {
            Self::Sdbm => sdbm(bytes),
            Self::Djb2 => djb2(bytes),
            Self::Wt6 => wt6(bytes),
            Self::Crc32 => crc32(&[bytes]),
            Self::Number => number(bytes),
        };
        Digest { hash, bytes: u32::try_from(bytes.len()).unwrap_or(u32::MAX) }
    }
}

/// Computes hash * 65599 + byte for each byte, starting at 0.
fn sdbm(bytes: &[u8]) -> u32 {
    bytes.iter().fold(0, |hash: u32, byte| hash.wrapping_mul(65_599).wrapping_add(u32::from(*byte)))
}

/// Computes hash * 33 + byte for each byte, starting at 5381.
fn djb2(bytes: &[u8]) -> u32 {
    bytes.iter().fold(5_381, |hash: u32, byte| hash.wrapping_mul(33).wrapping_add(u32::from(*byte)))
}

/// Adds each byte to two halves, rotates them by amounts taken from the previous round, and swaps them.
fn wt6(bytes: &[u8]) -> u32 {
    let (mut first, mut second) = (0xa53c_965a_u32, 0x5ca6_953a_u32);
    let (mut second_by, mut first_by) = (6, 18);
    for byte in bytes {
        let byte = u32::from(*byte);
        first = !(first ^ byte);
        second = !second.wrapping_add(byte);
        (first, second) = (second.rotate_left(second_by), first.rotate_left(first_by));
        let steps = ((first >> 16) ^ second) & 0xffff;
        (second_by, first_by) = (steps & 0x1f, steps >> 11);
    }
    first ^ second
}

/// Returns the lower 32 bits of the signed 64-bit number at the start of the key; 0 = the key does not start
/// with a number.
fn number(bytes: &[u8]) -> u32 {
    let (sign, digits) = match bytes {
        [b'-', digits @ ..] => (-1, digits),
        [b'+', digits @ ..] => (1, digits),
        digits => (1, digits),
    };
    let digits = digits.iter().take_while(|byte| byte.is_ascii_digit());
    let more =
        |value: i64, digit: &u8| value.saturating_mul(10).saturating_add(sign * i64::from(digit - b'0'));
    digits.fold(0, more) as u32
}

impl fmt::Display for HashFunction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_known_values_of_the_functions_come_out() {
        let of = |function: HashFunction, text: &str| function.digest(text.as_bytes()).hash;
        assert_eq!(of(HashFunction::Sdbm, "ab"), 97 * 65_599 + 98);
        assert_eq!(of(HashFunction::Djb2, ""), 5_381);
        assert_eq!(of(HashFunction::Djb2, "a"), 5_381 * 33 + 97);
        assert_eq!(of(HashFunction::Wt6, ""), 0xa53c_965a ^ 0x5ca6_953a);
        assert_eq!(of(HashFunction::Crc32, "123456789"), 0xcbf4_3926);
    }

    #[test]
    fn a_number_is_its_own_hash() {
        let of = |text: &str| HashFunction::Number.digest(text.as_bytes()).hash;
        assert_eq!([of("7"), of("+7"), of("007"), of("7,5"), of("7 ")], [7; 5]);
        assert_eq!([of(""), of("x7"), of("-"), of("+-7")], [0; 4]);
        assert_eq!((of("-1"), of("4294967298")), (u32::MAX, 2));
        // A number too large for 64 bits becomes the largest 64-bit number.
        assert_eq!((of("99999999999999999999"), of("-99999999999999999999")), (u32::MAX, 0));
    }
}
