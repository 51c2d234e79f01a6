use rustls::pki_types::CertificateDer;
use rustls::{HandshakeKind, ProtocolVersion};
use weir_config::plan::TlsVersion;

use super::TlsStream;
use super::explain::explain;
use super::name::text_of;
use super::provider;
use super::raw_io::RawIo;

/// What was agreed with the peer; complete when the handshake is over.
impl<S: RawIo> TlsStream<S> {
    /// The version spoken.
    pub fn version(&self) -> Option<TlsVersion> {
        match self.session.common().protocol_version()? {
            ProtocolVersion::TLSv1_2 => Some(TlsVersion::V1_2),
            ProtocolVersion::TLSv1_3 => Some(TlsVersion::V1_3),
            _ => None,
        }
    }

    /// The cipher suite, by its IANA name.
    pub fn cipher(&self) -> Option<&'static str> {
        provider::name_of(self.session.common().negotiated_cipher_suite()?)
    }

    /// The name that the client asked for, in lower case (RFC 6066, 3). `None` at the client's own end.
    pub fn server_name(&self) -> Option<&str> {
        self.server_name.as_deref()
    }

    /// The protocol agreed by ALPN (RFC 7301).
    pub fn alpn(&self) -> Option<&[u8]> {
        self.session.common().alpn_protocol()
    }

    /// Why the certificate that the client has shown counts as none.
    pub fn rejected_certificate(&self) -> Option<String> {
        self.rejected.as_deref().map(explain)
    }

    /// Whether an earlier session was resumed instead of a full handshake.
    pub fn is_resumed(&self) -> bool {
        self.session.common().handshake_kind() == Some(HandshakeKind::Resumed)
    }

    /// The subject of that certificate (RFC 4514), for headers and logs.
    pub fn peer_subject(&self) -> Option<String> {
        let (_, certificate) = x509_parser::parse_x509_certificate(self.peer_certificate()?).ok()?;
        Some(text_of(certificate.subject()))
    }

    /// Who has issued it, in the same form.
    pub fn peer_issuer(&self) -> Option<String> {
        let (_, certificate) = x509_parser::parse_x509_certificate(self.peer_certificate()?).ok()?;
        Some(text_of(certificate.issuer()))
    }

    /// The end of that certificate, in seconds since 1970.
    pub fn peer_not_after_unix_secs(&self) -> Option<u64> {
        let (_, certificate) = x509_parser::parse_x509_certificate(self.peer_certificate()?).ok()?;
        // Before 1970 is as good as then.
        Some(u64::try_from(certificate.validity().not_after.timestamp()).unwrap_or(0))
    }

    /// The certificate that the peer has shown and that was accepted.
    pub fn peer_certificate(&self) -> Option<&CertificateDer<'static>> {
        if self.rejected.is_some() {
            return None;
        }
        self.session.common().peer_certificates()?.first()
    }
}
