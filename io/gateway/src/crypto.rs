//! Implements the cryptography interface of `logic/access` with AWS-LC, the only crypto library of the
//! process.

use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::signature::{
    self, ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair as _, RsaParameters, RsaPublicKeyComponents,
    UnparsedPublicKey,
};
use aws_lc_rs::{constant_time, digest, hmac};
use weir_access::jwt::Algorithm;
use weir_access::{Crypto, PublicKey};

/// Cryptography by AWS-LC.
#[derive(Debug, Clone, Copy)]
pub(crate) struct AwsLc;

impl Crypto for AwsLc {
    fn verifies(&self, algorithm: Algorithm, key: &PublicKey, message: &[u8], made: &[u8]) -> bool {
        let verified = match key {
            PublicKey::Rsa { n, e } => {
                let parameters: &RsaParameters = match algorithm {
                    Algorithm::Rs256 => &signature::RSA_PKCS1_2048_8192_SHA256,
                    Algorithm::Rs384 => &signature::RSA_PKCS1_2048_8192_SHA384,
                    Algorithm::Rs512 => &signature::RSA_PKCS1_2048_8192_SHA512,
                    Algorithm::Ps256 => &signature::RSA_PSS_2048_8192_SHA256,
                    Algorithm::Ps384 => &signature::RSA_PSS_2048_8192_SHA384,
                    Algorithm::Ps512 => &signature::RSA_PSS_2048_8192_SHA512,
                    _ => return false,
                };
                RsaPublicKeyComponents { n, e }.verify(parameters, message, made)
            }
            PublicKey::P256(point) => {
                UnparsedPublicKey::new(&signature::ECDSA_P256_SHA256_FIXED, point).verify(message, made)
            }
            PublicKey::P384(point) => {
                UnparsedPublicKey::new(&signature::ECDSA_P384_SHA384_FIXED, point).verify(message, made)
            }
            PublicKey::P521(point) => {
                UnparsedPublicKey::new(&signature::ECDSA_P521_SHA512_FIXED, point).verify(message, made)
            }
            PublicKey::Ed25519(key) => UnparsedPublicKey::new(&signature::ED25519, key).verify(message, made),
        };
        verified.is_ok()
    }

    fn sign_es256(&self, key: &[u8], message: &[u8]) -> Option<Vec<u8>> {
        let pair = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, key).ok()?;
        Some(pair.sign(&SystemRandom::new(), message).ok()?.as_ref().to_vec())
    }

    fn public_point_p256(&self, key: &[u8]) -> Option<Vec<u8>> {
        let pair = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, key).ok()?;
        Some(pair.public_key().as_ref().to_vec())
    }

    fn hmac_sha256(&self, key: &[u8], parts: &[&[u8]]) -> [u8; 32] {
        let mut context = hmac::Context::with_key(&hmac::Key::new(hmac::HMAC_SHA256, key));
        parts.iter().for_each(|part| context.update(part));
        exactly(context.sign().as_ref())
    }

    fn sha256(&self, parts: &[&[u8]]) -> [u8; 32] {
        exactly(hash(&digest::SHA256, parts).as_ref())
    }

    fn sha512(&self, parts: &[&[u8]]) -> [u8; 64] {
        exactly(hash(&digest::SHA512, parts).as_ref())
    }

    fn equal(&self, left: &[u8], right: &[u8]) -> bool {
        constant_time::verify_slices_are_equal(left, right).is_ok()
    }
}

fn hash(algorithm: &'static digest::Algorithm, parts: &[&[u8]]) -> digest::Digest {
    let mut context = digest::Context::new(algorithm);
    parts.iter().for_each(|part| context.update(part));
    context.finish()
}

/// Copies a digest, whose length is fixed by its algorithm, to an array.
fn exactly<const N: usize>(bytes: &[u8]) -> [u8; N] {
    let mut exact = [0; N];
    exact.iter_mut().zip(bytes).for_each(|(to, from)| *to = *from);
    exact
}

/// Returns unpredictable random bytes; `None` if the system has none.
pub(crate) fn random<const N: usize>() -> Option<[u8; N]> {
    let mut bytes = [0; N];
    aws_lc_rs::rand::fill(&mut bytes).ok()?;
    Some(bytes)
}
