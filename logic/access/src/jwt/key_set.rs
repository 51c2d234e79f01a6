//! Key sets (JWKS) that issuers publish.

use std::fmt;

use serde::Deserialize;

use super::key::{Jwk, VerificationKey};
use crate::algorithm::Algorithm;

/// The keys of an issuer (RFC 7517 section 5).
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct KeySet {
    keys: Vec<VerificationKey>,
}

/// Reason why a document is not a usable key set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KeySetError {
    /// The document is longer than [`KeySet::BYTES_MAX`].
    TooLong,
    /// The document is not a JSON object with an array `keys`.
    Malformed,
    /// The set has more than [`KeySet::KEYS_MAX`] keys.
    TooMany,
    /// No key in the set verifies signatures.
    NoUsableKey,
}

#[derive(Deserialize)]
struct Document {
    keys: Vec<serde_json::Value>,
}

impl KeySet {
    /// Maximum size of the document, in bytes.
    pub const BYTES_MAX: usize = 1024 * 1024;
    /// Maximum number of keys.
    pub const KEYS_MAX: usize = 256;
    /// Maximum number of keys that are tried for one token. Each try costs a signature check, and the token
    /// is untrusted.
    pub const TRIES_MAX: usize = 8;

    /// Parses a key set. Ignores keys of unknown kinds or for other uses, as RFC 7517 section 5 requires.
    ///
    /// # Errors
    /// If the document is not a key set, or if it has no usable key. The caller should then keep the present
    /// keys.
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

    /// Returns the number of usable keys.
    pub fn len(&self) -> usize {
        self.keys.len()
    }

    /// Returns true if the set has no keys.
    pub fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    /// Returns the keys that could have signed a token: those with its key id. If the token or a key has no
    /// id, every key that fits the algorithm is a candidate.
    pub(crate) fn candidates(
        &self,
        id: Option<&str>,
        algorithm: Algorithm,
    ) -> impl Iterator<Item = &VerificationKey> {
        self.of_id(id).filter(move |key| key.fits(algorithm)).take(Self::TRIES_MAX)
    }

    /// Returns true if some key could have signed a token with this key id, with any algorithm.
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
