use std::fmt;

use serde::Serialize;

use super::crc32::crc32;

/// How the bytes of a key become a number: HAProxy's functions (hash-type, hash.c).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum HashFunction {
    /// That of the sdbm database; HAProxy's default.
    #[default]
    Sdbm,
    /// Dan Bernstein's, times 33 and plus.
    Djb2,
    /// Worktile's, by bits shifted as the bytes say.
    Wt6,
    /// CRC-32 as Ethernet has it (IEEE 802.3); also that of NGINX.
    Crc32,
    /// The key is a number, in decimal digits, and is its own hash (HAProxy's `none`).
    #[serde(rename = "none")]
    Number,
}

/// Bytes, hashed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Digest {
    /// The function's value.
    pub hash: u32,
    /// How many bytes there were; with it, a CRC can be carried on as if the bytes were there.
    pub bytes: u32,
}

impl HashFunction {
    /// Every function.
    pub const ALL: [Self; 5] = [Self::Sdbm, Self::Djb2, Self::Wt6, Self::Crc32, Self::Number];

    /// The name in config.
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

/// hash * 65599 + byte.
fn sdbm(bytes: &[u8]) -> u32 {
    bytes.iter().fold(0, |hash: u32, byte| hash.wrapping_mul(65_599).wrapping_add(u32::from(*byte)))
}

/// hash * 33 + byte, from 5381 on.
fn djb2(bytes: &[u8]) -> u32 {
    bytes.iter().fold(5_381, |hash: u32, byte| hash.wrapping_mul(33).wrapping_add(u32::from(*byte)))
}

/// Two halves take in each byte, are rotated by as many bits as the last round says, and change places.
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

/// The lower 32 bits of the number, of 64 bits and with a sign, that the key begins with; 0 = it begins with none.
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
        // What is too large for 64 bits is the largest there is.
        assert_eq!((of("99999999999999999999"), of("-99999999999999999999")), (u32::MAX, 0));
    }
}
