//! Hashes of handshakes in which a server name is hidden from rustls, computed over the bytes that the client
//! sent.
//!
//! rustls takes its hash functions from the provider. The provider of listeners restores a ClientHello that
//! [`odd_name`](super::odd_name) has changed. All other connections use the library's own hashes, at no cost.

use std::borrow::Cow;
use std::cell::Cell;
use std::sync::LazyLock;

use rustls::crypto::CipherSuiteCommon;
use rustls::crypto::hash::{Context, Hash, HashAlgorithm, Output};
use rustls::{SupportedCipherSuite, Tls12CipherSuite, Tls13CipherSuite};

use super::odd_name;
use super::provider::CIPHERS;

thread_local! {
    static RESTORES: Cell<bool> = const { Cell::new(false) };
}

/// A guard: while it lives, hashes that start on this thread restore hidden names.
pub(super) struct Restoring {
    before: bool,
}

impl Restoring {
    /// Creates the guard. `restores`: the current connection has a hidden name.
    pub(super) fn start(restores: bool) -> Self {
        Self { before: RESTORES.replace(restores) }
    }
}

impl Drop for Restoring {
    fn drop(&mut self) {
        RESTORES.set(self.before);
    }
}

/// Returns messages of the current handshake as the client sent them.
pub(super) fn restored(messages: &[u8]) -> Cow<'_, [u8]> {
    if RESTORES.get() { odd_name::restore(messages) } else { Cow::Borrowed(messages) }
}

/// Returns the suite with a hash that restores hidden names.
pub(super) fn restoring(suite: SupportedCipherSuite) -> SupportedCipherSuite {
    static SUITES: LazyLock<Vec<SupportedCipherSuite>> =
        LazyLock::new(|| CIPHERS.iter().map(|(_, suite)| wrap(*suite)).collect());
    SUITES.iter().find(|known| **known == suite).copied().unwrap_or(suite)
}

/// Wraps a suite. rustls requires suites with a static lifetime, so this is called once for each.
fn wrap(suite: SupportedCipherSuite) -> SupportedCipherSuite {
    let common = |common: &CipherSuiteCommon| CipherSuiteCommon {
        suite: common.suite,
        hash_provider: Box::leak(Box::new(RestoringHash(common.hash_provider))),
        confidentiality_limit: common.confidentiality_limit,
    };
    match suite {
        SupportedCipherSuite::Tls12(suite) => {
            SupportedCipherSuite::Tls12(Box::leak(Box::new(Tls12CipherSuite {
                common: common(&suite.common),
                prf_provider: suite.prf_provider,
                kx: suite.kx,
                sign: suite.sign,
                aead_alg: suite.aead_alg,
            })))
        }
        SupportedCipherSuite::Tls13(suite) => {
            SupportedCipherSuite::Tls13(Box::leak(Box::new(Tls13CipherSuite {
                common: common(&suite.common),
                hkdf_provider: suite.hkdf_provider,
                aead_alg: suite.aead_alg,
                quic: suite.quic,
            })))
        }
    }
}

struct RestoringHash(&'static dyn Hash);

impl Hash for RestoringHash {
    fn start(&self) -> Box<dyn Context> {
        let context = self.0.start();
        if RESTORES.get() { Box::new(RestoringContext(context)) } else { context }
    }

    fn hash(&self, data: &[u8]) -> Output {
        self.0.hash(data)
    }

    fn output_len(&self) -> usize {
        self.0.output_len()
    }

    fn algorithm(&self) -> HashAlgorithm {
        self.0.algorithm()
    }

    fn fips(&self) -> bool {
        self.0.fips()
    }
}

struct RestoringContext(Box<dyn Context>);

impl Context for RestoringContext {
    fn fork_finish(&self) -> Output {
        self.0.fork_finish()
    }

    fn fork(&self) -> Box<dyn Context> {
        Box::new(Self(self.0.fork()))
    }

    fn finish(self: Box<Self>) -> Output {
        self.0.finish()
    }

    /// rustls adds whole messages, or all earlier messages and then a ClientHello.
    fn update(&mut self, data: &[u8]) {
        self.0.update(&odd_name::restore(data));
    }
}
