//! Public keys that verify signatures, read from JWKs.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::Deserialize;

use crate::algorithm::Algorithm;
use crate::crypto::{Crypto, PublicKey};

/// A public key that verifies signatures (RFC 7517).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VerificationKey {
    /// Key id (`kid`).
    pub(super) id: Option<String>,
    /// The only algorithm that the key may be used with (`alg`), if the JWK names one.
    algorithm: Option<Algorithm>,
    material: PublicKey,
}

/// Members of a JWK that Weir reads (RFC 7517 section 4, RFC 7518 section 6, RFC 8037 section 2).
#[derive(Deserialize)]
pub(super) struct Jwk {
    kty: String,
    kid: Option<String>,
    alg: Option<String>,
    #[serde(rename = "use")]
    usage: Option<String>,
    key_ops: Option<Vec<String>>,
    crv: Option<String>,
    n: Option<String>,
    e: Option<String>,
    x: Option<String>,
    y: Option<String>,
}

/// Permitted length of an RSA modulus, in bytes. Shorter keys can be broken; longer keys cost too much CPU
/// time.
const RSA_BYTES: std::ops::RangeInclusive<usize> = 256..=1024;

impl VerificationKey {
    /// Creates a key from a JWK. Returns `None` if it is not a key that verifies signatures with a supported
    /// algorithm. A key set may contain other keys, such as encryption keys, newer curves, and symmetric
    /// keys, which are never used.
    pub(super) fn from_jwk(jwk: &Jwk) -> Option<Self> {
        if jwk.usage.as_deref().is_some_and(|usage| usage != "sig") {
            return None;
        }
        if jwk.key_ops.as_ref().is_some_and(|ops| !ops.iter().any(|op| op == "verify")) {
            return None;
        }
        let bytes = |member: &Option<String>| URL_SAFE_NO_PAD.decode(member.as_deref()?).ok();
        let point = |length: usize| {
            let (x, y) = (bytes(&jwk.x)?, bytes(&jwk.y)?);
            (x.len() == length && y.len() == length).then(|| [&[4_u8][..], &x, &y].concat())
        };
        let material = match (jwk.kty.as_str(), jwk.crv.as_deref()) {
            ("RSA", _) => {
                let (n, e) = (without_zeros(bytes(&jwk.n)?), without_zeros(bytes(&jwk.e)?));
                if !RSA_BYTES.contains(&n.len()) || e.is_empty() || e.len() > 4 {
                    return None;
                }
                PublicKey::Rsa { n, e }
            }
            ("EC", Some("P-256")) => PublicKey::P256(point(32)?),
            ("EC", Some("P-384")) => PublicKey::P384(point(48)?),
            ("EC", Some("P-521")) => PublicKey::P521(point(66)?),
            ("OKP", Some("Ed25519")) => PublicKey::Ed25519(bytes(&jwk.x).filter(|x| x.len() == 32)?),
            _ => return None,
        };
        let algorithm = match &jwk.alg {
            None => None,
            Some(name) => Some(Algorithm::from_name(name)?),
        };
        Some(Self { id: jwk.kid.clone(), algorithm, material })
    }

    /// Creates a verification key for one of Weir's own signing keys from its public point.
    pub(crate) fn p256(id: Option<String>, point: &[u8]) -> Self {
        Self { id, algorithm: Some(Algorithm::Es256), material: PublicKey::P256(point.to_vec()) }
    }

    /// Returns true if the key can verify signatures of that algorithm.
    pub(super) fn fits(&self, algorithm: Algorithm) -> bool {
        use Algorithm::{EdDsa, Es256, Es384, Es512, Ps256, Ps384, Ps512, Rs256, Rs384, Rs512};
        let meant = self.algorithm.is_none_or(|only| only == algorithm);
        let able = match &self.material {
            PublicKey::Rsa { .. } => matches!(algorithm, Rs256 | Rs384 | Rs512 | Ps256 | Ps384 | Ps512),
            PublicKey::P256(_) => algorithm == Es256,
            PublicKey::P384(_) => algorithm == Es384,
            PublicKey::P521(_) => algorithm == Es512,
            PublicKey::Ed25519(_) => algorithm == EdDsa,
        };
        meant && able
    }

    /// Returns true if the key made `signature` over `message`.
    pub(crate) fn verifies(
        &self,
        crypto: &dyn Crypto,
        algorithm: Algorithm,
        message: &[u8],
        signature: &[u8],
    ) -> bool {
        self.fits(algorithm) && crypto.verifies(algorithm, &self.material, message, signature)
    }
}

/// Removes leading zero bytes. Some issuers write a number with one, as in DER.
fn without_zeros(mut bytes: Vec<u8>) -> Vec<u8> {
    let zeros = bytes.iter().take_while(|&&byte| byte == 0).count();
    bytes.drain(..zeros);
    bytes
}
