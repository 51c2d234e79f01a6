//! Cryptography providers for rustls.

use std::sync::Arc;

use rustls::crypto::CryptoProvider;
use rustls::crypto::aws_lc_rs::{self, cipher_suite};
use rustls::{SupportedCipherSuite, SupportedProtocolVersion, version};
use weir_config::plan::TlsVersion;

use super::error::TlsError;
use super::p521::Secp521r1;
use super::transcript::restoring;

/// All cipher suites by their IANA names; rustls uses other names for those of TLS 1.3.
pub(super) const CIPHERS: &[(&str, SupportedCipherSuite)] = &[
    ("TLS_AES_256_GCM_SHA384", cipher_suite::TLS13_AES_256_GCM_SHA384),
    ("TLS_AES_128_GCM_SHA256", cipher_suite::TLS13_AES_128_GCM_SHA256),
    ("TLS_CHACHA20_POLY1305_SHA256", cipher_suite::TLS13_CHACHA20_POLY1305_SHA256),
    ("TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384", cipher_suite::TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384),
    ("TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256", cipher_suite::TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256),
    (
        "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256",
        cipher_suite::TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256,
    ),
    ("TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384", cipher_suite::TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384),
    ("TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256", cipher_suite::TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256),
    (
        "TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256",
        cipher_suite::TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256,
    ),
];

/// Returns the IANA names of all cipher suites that can be configured.
pub fn cipher_names() -> impl Iterator<Item = &'static str> {
    CIPHERS.iter().map(|(name, _)| *name)
}

/// Returns the IANA name of a cipher suite.
pub(super) fn name_of(suite: SupportedCipherSuite) -> Option<&'static str> {
    CIPHERS.iter().find(|(_, known)| *known == suite).map(|(name, _)| *name)
}

/// Creates the provider for connections from clients, with `ciphers` by IANA name; empty = all of them.
pub(super) fn provider_in(ciphers: &[String], oldest: TlsVersion) -> Result<Arc<CryptoProvider>, TlsError> {
    let cipher_suites = match ciphers {
        [] => CIPHERS.iter().map(|(_, suite)| *suite).collect(),
        some => some.iter().map(|name| cipher(name)).collect::<Result<Vec<_>, _>>()?,
    };
    let spoken = |suite: &SupportedCipherSuite| versions(oldest).contains(&suite.version());
    if !cipher_suites.iter().any(spoken) {
        return Err(TlsError::NoCipherForVersion);
    }
    let cipher_suites = cipher_suites.into_iter().map(restoring).collect();
    // For key exchange groups, including post-quantum X25519MLKEM768, rustls follows the client's order.
    Ok(Arc::new(CryptoProvider { cipher_suites, ..with_all_groups() }))
}

/// Creates the provider for connections to servers. The provider is always explicit, so that the choice of
/// the library does not depend on what is linked into the process.
pub(super) fn provider_out() -> Arc<CryptoProvider> {
    Arc::new(with_all_groups())
}

fn with_all_groups() -> CryptoProvider {
    let mut provider = aws_lc_rs::default_provider();
    provider.kx_groups.push(&Secp521r1);
    provider
}

/// Returns the versions from `oldest` on.
pub(super) fn versions(oldest: TlsVersion) -> &'static [&'static SupportedProtocolVersion] {
    const NEWEST_FIRST: &[&SupportedProtocolVersion] = &[&version::TLS13, &version::TLS12];
    match oldest {
        TlsVersion::V1_2 => NEWEST_FIRST,
        TlsVersion::V1_3 => &NEWEST_FIRST[..1],
    }
}

fn cipher(name: &str) -> Result<SupportedCipherSuite, TlsError> {
    CIPHERS
        .iter()
        .find(|(known, _)| *known == name)
        .map(|(_, suite)| *suite)
        .ok_or_else(|| TlsError::UnknownCipher(name.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_cipher_of_the_library_can_be_configured() {
        let all = aws_lc_rs::ALL_CIPHER_SUITES;
        assert_eq!(all.len(), CIPHERS.len());
        assert!(all.iter().all(|suite| name_of(*suite).is_some()));
    }

    #[test]
    fn an_unknown_cipher_is_answered_with_the_known_ones() {
        let error = provider_in(&["TLS_RSA_WITH_RC4_128_MD5".to_owned()], TlsVersion::V1_2).unwrap_err();
        let text = error.to_string();
        assert!(
            text.contains("TLS_RSA_WITH_RC4_128_MD5") && cipher_names().all(|name| text.contains(name)),
            "{text}"
        );
    }

    #[test]
    fn ciphers_must_suit_a_version_that_is_spoken() {
        let ciphers = ["TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256".to_owned()];
        assert!(provider_in(&ciphers, TlsVersion::V1_2).is_ok());
        assert!(matches!(provider_in(&ciphers, TlsVersion::V1_3), Err(TlsError::NoCipherForVersion)));
    }
}
