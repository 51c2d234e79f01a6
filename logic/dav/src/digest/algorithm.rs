//! The digest algorithms and their names in headers.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A digest algorithm.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Algorithm {
    /// Adler-32 (RFC 1950 section 8.2), common in grid storage. Detects damage, not tampering.
    Adler32,
    /// CRC-32C (RFC 9260 appendix A). Detects damage, not tampering.
    Crc32c,
    /// MD5 (RFC 1321). Detects damage; an attacker can forge it.
    Md5,
    /// SHA-256 (FIPS 180-4).
    #[serde(rename = "sha-256")]
    Sha256,
    /// SHA-512 (FIPS 180-4).
    #[serde(rename = "sha-512")]
    Sha512,
}

impl Algorithm {
    /// Every algorithm.
    pub const ALL: [Self; 5] = [Self::Adler32, Self::Crc32c, Self::Md5, Self::Sha256, Self::Sha512];

    /// Returns the name in Digest and Want-Digest (RFC 3230 section 4.1.1 and its registry), and in the
    /// config.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Adler32 => "adler32",
            Self::Crc32c => "crc32c",
            Self::Md5 => "md5",
            Self::Sha256 => "sha-256",
            Self::Sha512 => "sha-512",
        }
    }

    /// Returns the key in Repr-Digest and Content-Digest (RFC 9530 section 7.2).
    pub const fn key(self) -> &'static str {
        match self {
            Self::Adler32 => "adler",
            other => other.name(),
        }
    }

    /// Returns the length of a digest, in bytes.
    pub const fn bytes(self) -> usize {
        match self {
            Self::Adler32 | Self::Crc32c => 4,
            Self::Md5 => 16,
            Self::Sha256 => 32,
            Self::Sha512 => 64,
        }
    }

    /// Finds an algorithm by its Digest name, ignoring case (RFC 3230 section 4.1.1).
    pub fn from_name(name: &[u8]) -> Option<Self> {
        Self::ALL.into_iter().find(|algorithm| algorithm.name().as_bytes().eq_ignore_ascii_case(name))
    }

    /// Finds an algorithm by its Repr-Digest key; case matters (RFC 9651 section 3.2).
    pub fn from_key(key: &[u8]) -> Option<Self> {
        Self::ALL.into_iter().find(|algorithm| algorithm.key().as_bytes() == key)
    }
}

impl fmt::Display for Algorithm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
