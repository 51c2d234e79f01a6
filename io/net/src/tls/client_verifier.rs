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

/// Verifies the certificates of clients: webpki by the authorities and revocation lists, and else by pins.
///
/// Where a certificate is optional, the handshake accepts any: [`judge`](Self::judge) says afterwards whether it counts. A
/// resumed session is judged again, so that an unverified certificate never comes back as a verified one.
#[derive(Debug)]
pub(super) struct ClientVerifier {
    /// `None` = there are only pins.
    pub(super) chains: Option<Arc<dyn ClientCertVerifier>>,
    pub(super) pins: Pins,
    pub(super) legacy: LegacyLists,
    /// There are revocation lists.
    pub(super) revokes: bool,
    pub(super) required: bool,
    /// The names of authorities that clients are told, to choose a certificate by.
    pub(super) hints: Vec<DistinguishedName>,
    pub(super) algorithms: WebPkiSupportedAlgorithms,
}

impl ClientVerifier {
    /// Returns whether a client may have shown something else, or nothing.
    pub(super) fn is_optional(&self) -> bool {
        !self.required
    }

    /// Returns whether this chain, leaf first, is accepted at `now`.
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
                // Nothing but its own authority could say that it is not revoked.
                if self.revokes && !is_self_issued(end_entity) {
                    return Err(CertificateError::UnknownRevocationStatus.into());
                }
                Ok(())
            }
            Err(refused) => Err(refused),
        }
    }

    /// Returns whether [`judge`](Self::judge) refuses a certificate whatever its chain. It needs no proof then.
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
