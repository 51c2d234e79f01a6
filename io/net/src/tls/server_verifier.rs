//! Verification of server certificates.

use std::sync::Arc;

use rustls::RootCertStore;
use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, WebPkiSupportedAlgorithms};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::VerifierBuilderError;
use rustls::{CertificateError, DigitallySignedStruct, Error, SignatureScheme};
use weir_config::plan::TlsVersion;

use super::pins::{self, Pins, Purpose};

/// Verifies server certificates by authorities with webpki, and otherwise by pins.
#[derive(Debug)]
pub(super) struct ServerVerifier {
    /// Verifier for chains; `None` = there are only pins.
    chains: Option<Arc<WebPkiServerVerifier>>,
    pins: Pins,
    algorithms: WebPkiSupportedAlgorithms,
}

impl ServerVerifier {
    pub(super) fn new(
        roots: Arc<RootCertStore>,
        pins: Pins,
        provider: &Arc<CryptoProvider>,
    ) -> Result<Self, VerifierBuilderError> {
        let chains = if roots.is_empty() && pins.iter().next().is_some() {
            None
        } else {
            Some(WebPkiServerVerifier::builder_with_provider(roots, Arc::clone(provider)).build()?)
        };
        Ok(Self { chains, pins, algorithms: provider.signature_verification_algorithms })
    }
}

impl ServerCertVerifier for ServerVerifier {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let refused = match &self.chains {
            Some(chains) => {
                match chains.verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now) {
                    Ok(verified) => return Ok(verified),
                    Err(refused) => refused,
                }
            }
            None => CertificateError::UnknownIssuer.into(),
        };
        if !pins::concerns_the_path(&refused) || !self.pins.hold(end_entity) {
            return Err(refused);
        }
        pins::check(end_entity, now, Purpose::Server)?;
        pins::check_name(end_entity, server_name)?;
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.pins.verify_signature(TlsVersion::V1_2, message, certificate, signature, &self.algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.pins.verify_signature(TlsVersion::V1_3, message, certificate, signature, &self.algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.algorithms.supported_schemes()
    }
}
