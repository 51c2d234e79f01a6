//! Verification of client certificates.

use std::sync::Arc;

use rustls::client::danger::HandshakeSignatureValid;
use rustls::crypto::WebPkiSupportedAlgorithms;
use rustls::pki_types::{CertificateDer, UnixTime};
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::{CertificateError, DigitallySignedStruct, DistinguishedName, Error, SignatureScheme};
use weir_config::plan::TlsVersion;
use x509_parser::prelude::{FromDer, X509Certificate};

use super::legacy_list::LegacyLists;
use super::pins::{self, Pins, Purpose};
use super::transcript::restored;

/// Verifies client certificates by authorities and revocation lists with webpki, and otherwise by pins.
///
/// If a certificate is optional, the handshake accepts any certificate, and [`judge`](Self::judge) decides
/// afterwards. A resumed session is judged again, so that an unverified certificate never becomes a verified
/// one.
#[derive(Debug)]
pub(super) struct ClientVerifier {
    /// Verifier for chains; `None` = there are only pins.
    pub(super) chains: Option<Arc<dyn ClientCertVerifier>>,
    pub(super) pins: Pins,
    pub(super) legacy: LegacyLists,
    /// Set when there are revocation lists.
    pub(super) revokes: bool,
    pub(super) required: bool,
    /// Names of authorities that the server sends to clients, so that they can choose a certificate.
    pub(super) hints: Vec<DistinguishedName>,
    pub(super) algorithms: WebPkiSupportedAlgorithms,
}

impl ClientVerifier {
    /// Returns true if a client certificate is optional.
    pub(super) fn is_optional(&self) -> bool {
        !self.required
    }

    /// Checks that this chain, leaf first, is valid at `now`.
    pub(super) fn judge(&self, chain: &[CertificateDer<'_>], now: UnixTime) -> Result<(), Error> {
        let Some((end_entity, intermediates)) = chain.split_first() else {
            return Err(Error::NoCertificatesPresented);
        };
        if !pins::has_usable_key(end_entity, &self.algorithms) {
            return Err(pins::unusable_key());
        }
        let verified = match &self.chains {
            Some(chains) => chains.verify_client_cert(end_entity, intermediates, now).map(|_| ()),
            None => Err(CertificateError::UnknownIssuer.into()),
        };
        match verified {
            Ok(()) => self.legacy.check(chain, &self.pins, now, self.algorithms.all),
            Err(refused) if pins::concerns_the_path(&refused) && self.pins.hold(end_entity) => {
                pins::check(end_entity, now, Purpose::Client)?;
                // Only its own authority could state that it is not revoked.
                if self.revokes && !is_self_issued(end_entity) {
                    return Err(CertificateError::UnknownRevocationStatus.into());
                }
                Ok(())
            }
            Err(refused) => Err(refused),
        }
    }

    /// Returns true if [`judge`](Self::judge) rejects the certificate with any chain. It then needs no proof.
    fn counts_as_none(&self, certificate: &CertificateDer<'_>) -> bool {
        let is_unreadable = !pins::is_readable(certificate) && !self.pins.hold(certificate);
        is_unreadable || !pins::has_usable_key(certificate, &self.algorithms)
    }

    fn verify_signature(
        &self,
        version: TlsVersion,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        if !self.required && self.counts_as_none(certificate) {
            return Ok(HandshakeSignatureValid::assertion());
        }
        self.pins.verify_signature(version, message, certificate, signature, &self.algorithms)
    }
}

impl ClientCertVerifier for ClientVerifier {
    fn client_auth_mandatory(&self) -> bool {
        self.required
    }

    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        &self.hints
    }

    fn verify_client_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        now: UnixTime,
    ) -> Result<ClientCertVerified, Error> {
        if self.required {
            let mut chain = vec![end_entity.clone()];
            chain.extend_from_slice(intermediates);
            self.judge(&chain, now)?;
        }
        Ok(ClientCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.verify_signature(TlsVersion::V1_2, &restored(message), certificate, signature)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.verify_signature(TlsVersion::V1_3, message, certificate, signature)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.algorithms.supported_schemes()
    }
}

fn is_self_issued(certificate: &CertificateDer<'_>) -> bool {
    X509Certificate::from_der(certificate)
        .is_ok_and(|(_, parsed)| parsed.issuer().as_raw() == parsed.subject().as_raw())
}
