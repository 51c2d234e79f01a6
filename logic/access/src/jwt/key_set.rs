use std::fmt;

use serde::Deserialize;

use super::algorithm::Algorithm;
use super::key::{Jwk, VerificationKey};

/// An issuer's keys (RFC 7517 section 5).
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct KeySet {
    keys: Vec<VerificationKey>,
}

/// Why a document is no key set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KeySetError {
    /// Over [`KeySet::BYTES_MAX`].
    TooLong,
    /// No JSON object with an array `keys`.
    Malformed,
    /// More than [`KeySet::KEYS_MAX`].
    TooMany,
    /// Nothing in it verifies signatures.
    NoUsableKey,
}

#[derive(Deserialize)]
struct Document {
    keys: Vec<serde_json::Value>,
}

impl KeySet {
    /// Longest document, in bytes.
    pub const BYTES_MAX: usize = 1024 * 1024;
    /// Most keys.
    pub const KEYS_MAX: usize = 256;
    /// Most keys that one token is tried with: each try costs a signature check, and the token is a stranger's.
    pub const TRIES_MAX: usize = 8;

    /// Reads a key set. Keys of kinds or for uses that are not known here are left out, as section 5 asks.
    ///
    /// # Errors
    /// It is no key set, or holds no key that could be used: the one that is in use had better stay.
    pub fn parse(document: &[u8]) -> Result<Self, KeySetError> {
        if document.len() > Self::BYTES_MAX {
            return Err(KeySetError::TooLong);
        }
        let Document { keys } = serde_json::from_slice(document).map_err(|_| KeySetError::Malformed)?;
        if keys.len() > Self::KEYS_MAX {
            return Err(KeySetError::TooMany);
        }
        let keys: Vec<_> = keys
            .into_iter()
            .filter_map(|key| VerificationKey::from_jwk(&serde_json::from_value::<Jwk>(key).ok()?))
            .collect();
        if keys.is_empty() { Err(KeySetError::NoUsableKey) } else { Ok(Self { keys }) }
    }

    /// How many keys can be used.
    pub fn len(&self) -> usize {
        self.keys.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    /// The keys that can have signed a token: those of its key id. Without an id, on either side, every key of the right
    /// kind may be the one.
    pub(super) fn candidates(
        &self,
        id: Option<&str>,
        algorithm: Algorithm,
    ) -> impl Iterator<Item = &VerificationKey> {
        self.of_id(id).filter(move |key| key.fits(algorithm)).take(Self::TRIES_MAX)
    }

    /// Returns whether there are keys that can have signed a token with this key id, by some algorithm.
    pub(super) fn may_have(&self, id: Option<&str>) -> bool {
        self.of_id(id).next().is_some()
    }

    fn of_id(&self, id: Option<&str>) -> impl Iterator<Item = &VerificationKey> {
        let of_id = move |key: &&VerificationKey| match (id, key.id.as_deref()) {
            (Some(wanted), Some(id)) => wanted == id,
            _ => true,
        };
        self.keys.iter().filter(of_id)
    }
}

impl fmt::Display for KeySetError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooLong => write!(f, "the key set is longer than {} bytes", KeySet::BYTES_MAX),
            Self::Malformed => f.write_str("no JSON object with an array \"keys\""),
            Self::TooMany => write!(f, "more than {} keys", KeySet::KEYS_MAX),
            Self::NoUsableKey => {
                f.write_str("no key in it verifies signatures with an algorithm that is known here")
            }
        }
    }
}

impl std::error::Error for KeySetError {}
