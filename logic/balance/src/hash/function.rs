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
    pub const ALL: [Self; 4] = [Self::Sdbm, Self::Djb2, Self::Wt6, Self::Crc32];

    /// The name in config.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Sdbm => "sdbm",
            Self::Djb2 => "djb2",
            Self::Wt6 => "wt6",
            Self::Crc32 => "crc32",
        }
    }

    /// Hashes `bytes`.
    pub fn digest(self, bytes: &[u8]) -> Digest {
        let hash = match self {
            Self::Sdbm => sdbm(bytes),
            Self::Djb2 => djb2(bytes),
            Self::Wt6 => wt6(bytes),
            Self::Crc32 => crc32(&[bytes]),
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
}
