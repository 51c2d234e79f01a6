//! A computed or received digest.

use std::fmt::Write as _;

use super::Algorithm;

/// The digest of some content.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Digest {
    algorithm: Algorithm,
    /// As many bytes as the algorithm produces; numbers are big-endian.
    bytes: Box<[u8]>,
}

impl Digest {
    /// Creates a digest. Returns `None` if the length is wrong for the algorithm.
    pub fn new(algorithm: Algorithm, bytes: &[u8]) -> Option<Self> {
        (bytes.len() == algorithm.bytes()).then(|| Self { algorithm, bytes: bytes.into() })
    }

    /// Creates a digest without a check; the caller guarantees the length.
    pub(super) fn of(algorithm: Algorithm, bytes: &[u8]) -> Self {
        Self { algorithm, bytes: bytes.into() }
    }

    /// Parses hexadecimal digits. A 32-bit checksum may lack leading zeros, because some clients omit them.
    pub fn from_hex(algorithm: Algorithm, digits: &[u8]) -> Option<Self> {
        if digits.is_empty() || !digits.iter().all(u8::is_ascii_hexdigit) {
            return None;
        }
        let digits = std::str::from_utf8(digits).ok()?;
        if algorithm.bytes() == 4 {
            let number = u32::from_str_radix(digits, 16).ok().filter(|_| digits.len() <= 8)?;
            return Some(Self::of(algorithm, &number.to_be_bytes()));
        }
        let (pairs, []) = digits.as_bytes().as_chunks::<2>() else { return None };
        let byte = |pair: &[u8; 2]| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok();
        Self::new(algorithm, &pairs.iter().map(byte).collect::<Option<Vec<_>>>()?)
    }

    /// Returns the algorithm that made the digest.
    pub fn algorithm(&self) -> Algorithm {
        self.algorithm
    }

    /// Returns the bytes of the digest.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Formats lower-case hexadecimal digits, two for each byte.
    pub fn to_hex(&self) -> String {
        self.bytes.iter().fold(String::with_capacity(2 * self.bytes.len()), |mut text, byte| {
            let _ = write!(text, "{byte:02x}");
            text
        })
    }
}
