//! The computing that a crypto library does. It comes as an argument, like time: logic depends on no library of C, and the
//! program keeps one crypto stack, chosen where it is linked.

use crate::jwt::Algorithm;

/// A crypto library. Each function is one of its arguments; where one draws random numbers (ECDSA signatures do), nothing
/// that is decided here depends on them.
pub trait Crypto {
    /// Whether `key` has made `signature` over `message` with `algorithm`, which is one that fits the key. Signatures of
    /// ECDSA are the two numbers one after the other (RFC 7518 section 3.4).
    fn verifies(&self, algorithm: Algorithm, key: &PublicKey, message: &[u8], signature: &[u8]) -> bool;
    /// Signs with ES256; `key` is a private key in PKCS #8 (DER). `None`: it is none over P-256.
    fn sign_es256(&self, key: &[u8], message: &[u8]) -> Option<Vec<u8>>;
    /// The public half of such a key, as an uncompressed point.
    fn public_point_p256(&self, key: &[u8]) -> Option<Vec<u8>>;
    /// HMAC with SHA-256 over the parts, one after the other.
    fn hmac_sha256(&self, key: &[u8], parts: &[&[u8]]) -> [u8; 32];
    /// SHA-256 over the parts, one after the other.
    fn sha256(&self, parts: &[&[u8]]) -> [u8; 32];
    /// SHA-512 over the parts, one after the other.
    fn sha512(&self, parts: &[&[u8]]) -> [u8; 64];
    /// Whether two secrets are equal, in a time that depends on their lengths only.
    fn equal(&self, left: &[u8], right: &[u8]) -> bool;
}

/// A public key's numbers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PublicKey {
    /// Modulus and exponent, big-endian without leading zeros; 2048 to 8192 bits.
    Rsa {
        /// Modulus.
        n: Vec<u8>,
        /// Exponent.
        e: Vec<u8>,
    },
    /// An uncompressed point of P-256: 4, x, y.
    P256(Vec<u8>),
    /// An uncompressed point of P-384.
    P384(Vec<u8>),
    /// An uncompressed point of P-521.
    P521(Vec<u8>),
    /// 32 bytes.
    Ed25519(Vec<u8>),
}
