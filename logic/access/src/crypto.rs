//! The interface to the crypto library. The caller passes the library as an argument, as it passes the time.
//! So this crate depends on no C library, and the program chooses its one crypto stack when it is linked.

use crate::algorithm::Algorithm;

/// A crypto library. Every function is pure, except that ECDSA signatures draw random numbers. No decision in
/// this crate depends on them.
pub trait Crypto {
    /// Returns true if `key` made `signature` over `message` with `algorithm`. The caller passes an algorithm
    /// that fits the key. An ECDSA signature is R followed by S (RFC 7518 section 3.4).
    fn verifies(&self, algorithm: Algorithm, key: &PublicKey, message: &[u8], signature: &[u8]) -> bool;
    /// Signs with ES256; `key` is a private key in PKCS #8 (DER). Returns `None` if it is not a key on P-256.
    fn sign_es256(&self, key: &[u8], message: &[u8]) -> Option<Vec<u8>>;
    /// Returns the public half of such a key as an uncompressed point.
    fn public_point_p256(&self, key: &[u8]) -> Option<Vec<u8>>;
    /// Computes the HMAC with SHA-256 over the concatenation of the parts.
    fn hmac_sha256(&self, key: &[u8], parts: &[&[u8]]) -> [u8; 32];
    /// Computes SHA-256 over the concatenation of the parts.
    fn sha256(&self, parts: &[&[u8]]) -> [u8; 32];
    /// Computes SHA-512 over the concatenation of the parts.
    fn sha512(&self, parts: &[&[u8]]) -> [u8; 64];
    /// Returns true if two secrets are equal. The time depends only on their lengths.
    fn equal(&self, left: &[u8], right: &[u8]) -> bool;
}

/// The numbers of a public key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PublicKey {
    /// RSA modulus and exponent, big-endian without leading zeros; 2048 to 8192 bits.
    Rsa {
        /// Modulus.
        n: Vec<u8>,
        /// Exponent.
        e: Vec<u8>,
    },
    /// An uncompressed point on P-256: the byte 4, then x, then y.
    P256(Vec<u8>),
    /// An uncompressed point on P-384.
    P384(Vec<u8>),
    /// An uncompressed point on P-521.
    P521(Vec<u8>),
    /// An Ed25519 key of 32 bytes.
    Ed25519(Vec<u8>),
}
