//! Negotiated parameters of a TLS stream.

use rustls::pki_types::CertificateDer;
use rustls::{HandshakeKind, ProtocolVersion};
use weir_config::plan::TlsVersion;

use super::TlsStream;
use super::explain::explain;
use super::name::text_of;
use super::provider;
use super::raw_io::RawIo;

/// Negotiated parameters; complete after the handshake.
impl<S: RawIo> TlsStream<S> {
    /// Returns the protocol version.
    pub fn version(&self) -> Option<TlsVersion> {
        match self.session.common().protocol_version()? {
            ProtocolVersion::TLSv1_2 => Some(TlsVersion::V1_2),
            ProtocolVersion::TLSv1_3 => Some(TlsVersion::V1_3),
            _ => None,
        }
    }

    /// Returns the IANA name of the cipher suite.
    pub fn cipher(&self) -> Option<&'static str> {
        provider::name_of(self.session.common().negotiated_cipher_suite()?)
    }

    /// Returns the name that the client requested, in lower case (RFC 6066 section 3). `None` on the client's
    /// side.
    pub fn server_name(&self) -> Option<&str> {
        self.server_name.as_deref()
    }

    /// Returns the protocol negotiated by ALPN (RFC 7301).
    pub fn alpn(&self) -> Option<&[u8]> {
        self.session.common().alpn_protocol()
    }

    /// Returns the reason why the client's certificate was rejected.
    pub fn rejected_certificate(&self) -> Option<String> {
        self.rejected.as_deref().map(explain)
    }

    /// Returns true if an earlier session was resumed.
    pub fn is_resumed(&self) -> bool {
        self.session.common().handshake_kind() == Some(HandshakeKind::Resumed)
    }

    /// Returns the subject of the peer's certificate (RFC 4514), for headers and logs.
    pub fn peer_subject(&self) -> Option<String> {
        let (_, certificate) = x509_parser::parse_x509_certificate(self.peer_certificate()?).ok()?;
        Some(text_of(certificate.subject()))
    }

    /// Returns the issuer of the peer's certificate, in the same form.
    pub fn peer_issuer(&self) -> Option<String> {
        let (_, certificate) = x509_parser::parse_x509_certificate(self.peer_certificate()?).ok()?;
        Some(text_of(certificate.issuer()))
    }

    /// Returns the end of that certificate's validity, in seconds since 1970.
    pub fn peer_not_after_unix_secs(&self) -> Option<u64> {
        let (_, certificate) = x509_parser::parse_x509_certificate(self.peer_certificate()?).ok()?;
        // An end before 1970 counts as 1970.
        Some(u64::try_from(certificate.validity().not_after.timestamp()).unwrap_or(0))
    }

    /// Returns the peer's certificate if it was accepted.
    pub fn peer_certificate(&self) -> Option<&CertificateDer<'static>> {
        if self.rejected.is_some() {
            return None;
        }
        self.session.common().peer_certificates()?.first()
    }
}
