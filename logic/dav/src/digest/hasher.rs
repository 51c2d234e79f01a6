//! Incremental computation of a digest.

use std::fmt;

use sha2::digest::Digest as _;

use super::{Algorithm, Digest};

/// Computes one digest of content that arrives in pieces.
#[derive(Clone)]
pub struct Hasher(State);

#[derive(Clone)]
enum State {
    Adler32(simd_adler32::Adler32),
    Crc32c(u32),
    // Boxed because the other states are small.
    Md5(Box<md5::Md5>),
    Sha256(Box<sha2::Sha256>),
    Sha512(Box<sha2::Sha512>),
}

impl Hasher {
    /// Creates a hasher for one algorithm.
    pub fn new(algorithm: Algorithm) -> Self {
        Self(match algorithm {
            Algorithm::Adler32 => State::Adler32(simd_adler32::Adler32::new()),
            Algorithm::Crc32c => State::Crc32c(0),
            Algorithm::Md5 => State::Md5(Box::default()),
            Algorithm::Sha256 => State::Sha256(Box::default()),
            Algorithm::Sha512 => State::Sha512(Box::default()),
        })
    }

    /// Adds the next piece of the content.
    pub fn update(&mut self, bytes: &[u8]) {
        match &mut self.0 {
            State::Adler32(state) => state.write(bytes),
            State::Crc32c(crc) => *crc = crc32c::crc32c_append(*crc, bytes),
            State::Md5(state) => state.update(bytes),
            State::Sha256(state) => state.update(bytes),
            State::Sha512(state) => state.update(bytes),
        }
    }

    /// Returns the digest of all pieces.
    pub fn finish(self) -> Digest {
        let algorithm = self.algorithm();
        let of = |bytes: &[u8]| Digest::of(algorithm, bytes);
        match self.0 {
            State::Adler32(state) => of(&state.finish().to_be_bytes()),
            State::Crc32c(crc) => of(&crc.to_be_bytes()),
            State::Md5(state) => of(&state.finalize()),
            State::Sha256(state) => of(&state.finalize()),
            State::Sha512(state) => of(&state.finalize()),
        }
    }

    /// Returns the algorithm.
    pub fn algorithm(&self) -> Algorithm {
        match self.0 {
            State::Adler32(_) => Algorithm::Adler32,
            State::Crc32c(_) => Algorithm::Crc32c,
            State::Md5(_) => Algorithm::Md5,
            State::Sha256(_) => Algorithm::Sha256,
            State::Sha512(_) => Algorithm::Sha512,
        }
    }
}

impl fmt::Debug for Hasher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Hasher").field(&self.algorithm()).finish()
    }
}
