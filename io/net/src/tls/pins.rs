//! Pinned certificates: a file of authorities may also contain a peer's own certificate.
//!
//! webpki accepts only certificates that an authority issued, and rejects those with CA:TRUE, such as those
//! of `openssl req -x509`. A pin matches the whole certificate, byte by byte. Its dates, its purpose, a
//! server's name, and its signatures on handshakes are still checked.

use std::sync::Arc;

use rustls::client::danger::HandshakeSignatureValid;
use rustls::client::verify_server_name;
use rustls::crypto::{WebPkiSupportedAlgorithms, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{CertificateError, DigitallySignedStruct, Error, OtherError};
use weir_config::plan::TlsVersion;
use x509_parser::prelude::{FromDer, X509Certificate, X509Version};
use x509_parser::public_key::PublicKey;

use super::signed::key_of;

/// Certificates of a file of authorities, each trusted as itself.
#[derive(Debug, Default)]
pub(super) struct Pins {
    certificates: Vec<CertificateDer<'static>>,
}

/// Role of the peer that presents a certificate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Purpose {
    /// Certificate of a server.
    Server,
    /// Certificate of a client.
    Client,
}

impl Pins {
    pub(super) fn new(certificates: Vec<CertificateDer<'static>>) -> Self {
        Self { certificates }
    }

    /// Returns true if exactly this certificate is pinned.
    pub(super) fn hold(&self, certificate: &CertificateDer<'_>) -> bool {
        self.certificates.iter().any(|pinned| pinned.as_ref() == certificate.as_ref())
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &CertificateDer<'static>> {
        self.certificates.iter()
    }

    /// Verifies a signature on the handshake. Also supports pinned certificates of X.509 version 1, which
    /// webpki does not read.
    pub(super) fn verify_signature(
        &self,
        version: TlsVersion,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
        algorithms: &WebPkiSupportedAlgorithms,
    ) -> Result<HandshakeSignatureValid, Error> {
        if !self.certificates.is_empty() && self.hold(certificate) && !is_readable(certificate) {
            return verify_by_key(version, message, certificate, signature, algorithms);
        }
        let verified = match version {
            TlsVersion::V1_2 => verify_tls12_signature(message, certificate, signature, algorithms),
            TlsVersion::V1_3 => verify_tls13_signature(message, certificate, signature, algorithms),
        };
        verified.map_err(|error| if has_usable_key(certificate, algorithms) { error } else { unusable_key() })
    }
}

/// Error for a key whose signatures cannot be verified.
#[derive(Debug, thiserror::Error)]
#[error(
    "with a key that Weir does not verify: it must be RSA from 2048 to 8192 bits, ECDSA on P-256, P-384 or P-521, or Ed25519"
)]
struct UnusableKey;

pub(super) fn unusable_key() -> Error {
    CertificateError::Other(OtherError(Arc::new(UnusableKey))).into()
}

/// Returns true if signatures of this certificate's key can be verified, or if this cannot be determined.
pub(super) fn has_usable_key(
    certificate: &CertificateDer<'_>,
    algorithms: &WebPkiSupportedAlgorithms,
) -> bool {
    let Ok(parsed) = parse(certificate) else { return true };
    let Some((kind, _)) = key_of(parsed.public_key().raw) else { return true };
    let is_known = algorithms.all.iter().any(|algorithm| algorithm.public_key_alg_id().as_ref() == kind);
    is_known
        && match parsed.public_key().parsed() {
            Ok(PublicKey::RSA(key)) => (2_048..=8_192).contains(&key.key_size()),
            _ => true,
        }
}

/// Returns true if webpki found no path from the certificate to an authority, and no other error.
pub(super) fn concerns_the_path(error: &Error) -> bool {
    match error {
        Error::InvalidCertificate(CertificateError::UnknownIssuer) => true,
        Error::InvalidCertificate(CertificateError::Other(other)) => matches!(
            other.0.downcast_ref(),
            Some(webpki::Error::CaUsedAsEndEntity | webpki::Error::UnsupportedCertVersion)
        ),
        _ => false,
    }
}

/// Returns true if webpki can parse the certificate.
pub(super) fn is_readable(certificate: &CertificateDer<'_>) -> bool {
    ParsedCertificate::try_from(certificate).is_ok()
}

/// Checks the dates and the purpose of a pinned certificate.
pub(super) fn check(certificate: &CertificateDer<'_>, now: UnixTime, purpose: Purpose) -> Result<(), Error> {
    let parsed = parse(certificate)?;
    let (from, until) = (&parsed.validity().not_before, &parsed.validity().not_after);
    let at = i64::try_from(now.as_secs()).unwrap_or(i64::MAX);
    if at < from.timestamp() {
        let not_before = unix_time(from.timestamp());
        return Err(CertificateError::NotValidYetContext { time: now, not_before }.into());
    }
    if at > until.timestamp() {
        let not_after = unix_time(until.timestamp());
        return Err(CertificateError::ExpiredContext { time: now, not_after }.into());
    }
    let Some(usage) = parsed.extended_key_usage().map_err(|_| CertificateError::BadEncoding)? else {
        return Ok(());
    };
    let is_permitted = match purpose {
        Purpose::Server => usage.value.server_auth,
        Purpose::Client => usage.value.client_auth,
    };
    if is_permitted { Ok(()) } else { Err(CertificateError::InvalidPurpose.into()) }
}

/// Checks that a pinned certificate is for this name. Its common name counts if it has no subject alternative
/// name, also for IP addresses, because the operator chose the certificate.
pub(super) fn check_name(certificate: &CertificateDer<'_>, name: &ServerName<'_>) -> Result<(), Error> {
    let parsed = parse(certificate)?;
    if parsed.subject_alternative_name().map_err(|_| CertificateError::BadEncoding)?.is_some() {
        return verify_server_name(&ParsedCertificate::try_from(certificate)?, name);
    }
    let common: Vec<&str> =
        parsed.subject().iter_common_name().filter_map(|name| name.as_str().ok()).collect();
    if common.iter().any(|common| common.eq_ignore_ascii_case(&name.to_str())) {
        return Ok(());
    }
    let presented = common.into_iter().map(str::to_owned).collect();
    Err(CertificateError::NotValidForNameContext { expected: name.to_owned(), presented }.into())
}

/// Returns true if a certificate may issue others, by OpenSSL's rules (`check_ca` in
/// `crypto/x509/v3_purp.c`). Other certificates are trusted only as pins.
pub(super) fn is_authority(certificate: &CertificateDer<'_>) -> bool {
    // If it cannot be parsed, rustls reports the error.
    let Ok((_, parsed)) = X509Certificate::from_der(certificate) else { return true };
    let usage = parsed.key_usage().ok().flatten();
    if usage.as_ref().is_some_and(|usage| !usage.value.key_cert_sign()) {
        return false;
    }
    match parsed.basic_constraints() {
        Ok(Some(constraints)) => constraints.value.ca,
        _ => {
            let is_old_root =
                parsed.version() == X509Version::V1 && parsed.issuer().as_raw() == parsed.subject().as_raw();
            is_old_root || usage.is_some()
        }
    }
}

fn parse<'a>(certificate: &'a CertificateDer<'_>) -> Result<X509Certificate<'a>, Error> {
    let (_, parsed) = X509Certificate::from_der(certificate).map_err(|_| CertificateError::BadEncoding)?;
    Ok(parsed)
}

fn verify_by_key(
    version: TlsVersion,
    message: &[u8],
    certificate: &CertificateDer<'_>,
    signature: &DigitallySignedStruct,
    algorithms: &WebPkiSupportedAlgorithms,
) -> Result<HandshakeSignatureValid, Error> {
    let parsed = parse(certificate)?;
    let (kind, key) = key_of(parsed.public_key().raw).ok_or(CertificateError::BadEncoding)?;
    let known = algorithms.mapping.iter().find(|(scheme, _)| *scheme == signature.scheme);
    let candidates = known.map_or(&[][..], |(_, candidates)| candidates);
    // TLS 1.3 fixes the curve of each scheme, TLS 1.2 does not (RFC 8446 section 4.2.3).
    let candidates =
        if version == TlsVersion::V1_3 { &candidates[..candidates.len().min(1)] } else { candidates };
    let fitting = candidates.iter().find(|algorithm| algorithm.public_key_alg_id().as_ref() == kind);
    match fitting.map(|algorithm| algorithm.verify_signature(key, message, signature.signature())) {
        Some(Ok(())) => Ok(HandshakeSignatureValid::assertion()),
        _ => Err(CertificateError::BadSignature.into()),
    }
}

fn unix_time(seconds: i64) -> UnixTime {
    UnixTime::since_unix_epoch(std::time::Duration::from_secs(u64::try_from(seconds).unwrap_or(0)))
}
