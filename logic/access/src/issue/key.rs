//! Keys that sign and verify Weir's own tokens.

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};

use crate::crypto::Crypto;
use crate::jwt::{Algorithm, Jws, TokenError, VerificationKey};

/// A key that signs Weir's own tokens.
pub struct OwnKey {
    id: String,
    material: Material,
}

enum Material {
    Hmac(Vec<u8>),
    /// An ES256 key: the private key in PKCS #8, and its public point.
    P256 {
        pkcs8: Vec<u8>,
        point: Vec<u8>,
        public: VerificationKey,
    },
}

/// The current key and the previous keys, some of whose tokens have not expired yet.
pub struct OwnKeys {
    /// Key that signs new tokens.
    pub current: OwnKey,
    /// Keys that only verify.
    pub previous: Vec<OwnKey>,
}

/// Reason why a key is invalid.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyError {
    /// The HMAC secret has fewer than 32 bytes.
    TooShort,
    /// The key is not a PKCS #8 private key on P-256.
    NotP256,
    /// The file is not PEM with a `PRIVATE KEY`.
    NotPem,
    /// The file is PEM with a key in the older form of openssl (SEC 1).
    Sec1,
    /// The file is PEM instead of a secret. PEM files often hold public data, such as certificates.
    Pem,
}

const PEM_BEGINS: &[u8] = b"-----BEGIN ";

impl OwnKey {
    /// Creates a key for HS256 from a secret of at least 32 random bytes (RFC 7518 section 3.2). It suits a
    /// single Weir, or several that share the secret.
    ///
    /// # Errors
    /// If the secret is shorter.
    pub fn hs256(id: &str, secret: &[u8]) -> Result<Self, KeyError> {
        if secret.len() < 32 {
            return Err(KeyError::TooShort);
        }
        let material = Material::Hmac(secret.to_vec());
        Ok(Self { id: id.to_owned(), material })
    }

    /// Creates a key for ES256 from a private key in PKCS #8 (DER). Other services can verify its tokens with
    /// the public half.
    ///
    /// # Errors
    /// If the bytes are not such a key.
    pub fn es256(id: &str, pkcs8: &[u8], crypto: &dyn Crypto) -> Result<Self, KeyError> {
        let point = crypto.public_point_p256(pkcs8).filter(|point| point.len() == 65);
        let point = point.ok_or(KeyError::NotP256)?;
        let public = VerificationKey::p256(Some(id.to_owned()), &point);
        let material = Material::P256 { pkcs8: pkcs8.to_vec(), point, public };
        Ok(Self { id: id.to_owned(), material })
    }

    /// Reads a key file: a line with a secret for HS256, or a private key in PKCS #8 (PEM) for ES256. The key
    /// id derives from the key, so that all servers with the same key use the same id.
    ///
    /// # Errors
    /// If the file does not contain a valid key.
    pub fn read(algorithm: Algorithm, file: &[u8], crypto: &dyn Crypto) -> Result<Self, KeyError> {
        let id = |hash: &[u8; 32]| hash[..8].iter().map(|byte| format!("{byte:02x}")).collect::<String>();
        if algorithm == Algorithm::Hs256 {
            let secret = file.trim_ascii_end();
            if secret.windows(PEM_BEGINS.len()).any(|text| text == PEM_BEGINS) {
                return Err(KeyError::Pem);
            }
            return Self::hs256(&id(&crypto.hmac_sha256(secret, &[b"key id"])), secret);
        }
        let pkcs8 = private_key_in(file)?;
        let point = crypto.public_point_p256(&pkcs8).ok_or(KeyError::NotP256)?;
        Self::es256(&id(&crypto.sha256(&[&point])), &pkcs8, crypto)
    }

    /// Returns the algorithm that signs the tokens.
    pub fn algorithm(&self) -> Algorithm {
        match self.material {
            Material::Hmac(_) => Algorithm::Hs256,
            Material::P256 { .. } => Algorithm::Es256,
        }
    }

    /// Returns the public half as a JWK, or `None` for an HMAC secret, which has none.
    pub fn public_jwk(&self) -> Option<serde_json::Value> {
        let Material::P256 { point, .. } = &self.material else { return None };
        // An uncompressed point is the byte 4, then x, then y.
        let (x, y) = point.get(1..65)?.split_at(32);
        Some(serde_json::json!({
            "kty": "EC", "crv": "P-256", "use": "sig", "alg": "ES256", "kid": self.id,
            "x": URL_SAFE_NO_PAD.encode(x), "y": URL_SAFE_NO_PAD.encode(y),
        }))
    }

    /// Signs claims. Returns `None` if the crypto library fails.
    pub(super) fn sign(&self, claims: &[u8], crypto: &dyn Crypto) -> Option<String> {
        let header = serde_json::json!({ "alg": self.algorithm().name(), "typ": "JWT", "kid": self.id });
        let mut token = URL_SAFE_NO_PAD.encode(header.to_string());
        token.push('.');
        token.push_str(&URL_SAFE_NO_PAD.encode(claims));
        let signature = match &self.material {
            Material::Hmac(secret) => crypto.hmac_sha256(secret, &[token.as_bytes()]).to_vec(),
            Material::P256 { pkcs8, .. } => crypto.sign_es256(pkcs8, token.as_bytes())?,
        };
        token.push('.');
        token.push_str(&URL_SAFE_NO_PAD.encode(signature));
        Some(token)
    }

    /// Returns a keyed digest that only holders of the signing key can compute.
    fn digest(&self, parts: &[&[u8]], crypto: &dyn Crypto) -> String {
        let secret = match &self.material {
            Material::Hmac(secret) => secret,
            Material::P256 { pkcs8, .. } => pkcs8,
        };
        // A signing input begins with the base64 of a JSON object, so it never equals these bytes.
        let parts = [&[&b"proof of a holder"[..]], parts].concat();
        crypto.hmac_sha256(secret, &parts)[..16].iter().map(|byte| format!("{byte:02x}")).collect()
    }

    fn verifies(&self, jws: &Jws<'_>, crypto: &dyn Crypto) -> bool {
        if jws.algorithm != self.algorithm() || jws.key_id.as_ref() != Some(&self.id) {
            return false;
        }
        match &self.material {
            Material::Hmac(secret) => {
                crypto.equal(&crypto.hmac_sha256(secret, &[jws.signing_input]), &jws.signature)
            }
            Material::P256 { public, .. } => {
                public.verifies(crypto, jws.algorithm, jws.signing_input, &jws.signature)
            }
        }
    }
}

impl OwnKeys {
    /// Verifies that one of the keys signed the token.
    pub(super) fn verify(&self, jws: &Jws<'_>, crypto: &dyn Crypto) -> Result<(), TokenError> {
        let mut keys = std::iter::once(&self.current).chain(&self.previous);
        if keys.any(|key| key.verifies(jws, crypto)) { Ok(()) } else { Err(TokenError::SignatureInvalid) }
    }

    /// Returns a proof for a token of the hash that the holder's password was checked against. It reveals
    /// nothing about the hash.
    pub(super) fn proof(&self, hash: &str, crypto: &dyn Crypto) -> String {
        self.current.digest(&[hash.as_bytes()], crypto)
    }

    /// Returns true if a token with this proof was issued while the hash was the same.
    pub(super) fn proves(&self, proof: &str, hash: &str, crypto: &dyn Crypto) -> bool {
        let mut keys = std::iter::once(&self.current).chain(&self.previous);
        keys.any(|key| crypto.equal(key.digest(&[hash.as_bytes()], crypto).as_bytes(), proof.as_bytes()))
    }

    /// Returns the public halves as a key set (RFC 7517 section 5).
    pub fn public_key_set(&self) -> serde_json::Value {
        let keys = std::iter::once(&self.current).chain(&self.previous);
        serde_json::json!({ "keys": keys.filter_map(OwnKey::public_jwk).collect::<Vec<_>>() })
    }
}

/// Returns the first `PRIVATE KEY` of a PEM file (RFC 7468).
fn private_key_in(file: &[u8]) -> Result<Vec<u8>, KeyError> {
    let text = std::str::from_utf8(file).map_err(|_| KeyError::NotPem)?;
    let Some((_, rest)) = text.split_once("-----BEGIN PRIVATE KEY-----") else {
        return Err(if text.contains("-----BEGIN EC PRIVATE KEY-----") {
            KeyError::Sec1
        } else {
            KeyError::NotPem
        });
    };
    let (encoded, _) = rest.split_once("-----END PRIVATE KEY-----").ok_or(KeyError::NotPem)?;
    let encoded: String = encoded.split_ascii_whitespace().collect();
    STANDARD.decode(encoded).map_err(|_| KeyError::NotPem)
}

/// Shows the key without the secret.
impl fmt::Debug for OwnKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "OwnKey({}, {})", self.id, self.algorithm())
    }
}

impl fmt::Display for KeyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::TooShort => "a secret for HS256 has at least 32 bytes",
            Self::Pem => "a PEM file, which is no secret for HS256; `openssl rand -hex 32` makes one",
            Self::NotP256 => "not a PKCS #8 private key over P-256",
            Self::NotPem => "not a PEM file with a PRIVATE KEY",
            Self::Sec1 => {
                "an EC PRIVATE KEY; `openssl pkcs8 -topk8 -nocrypt` makes it a PRIVATE KEY (PKCS #8)"
            }
        })
    }
}

impl std::error::Error for KeyError {}
