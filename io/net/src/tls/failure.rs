//! Failures of TLS connections.

use std::io;

use super::explain::explain;

/// Reason why a TLS connection failed. Travels inside an [`io::Error`]: see [`TlsFailure::of`].
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum TlsFailure {
    /// The peer violated the protocol, or one side rejected the other.
    #[error("TLS: {}", explain(.0))]
    Protocol(#[source] rustls::Error),
    /// The first bytes are an HTTP request.
    #[error("TLS: the client speaks plain HTTP")]
    PlainHttp,
    /// The connection ended before the handshake did.
    #[error("TLS: the connection ended during the handshake")]
    EndInHandshake,
    /// The connection ended without a close_notify, so the received data may be incomplete (RFC 8446 section
    /// 6.1).
    #[error("TLS: the connection ended without close_notify")]
    Truncated,
    /// A message exceeds the size limit.
    #[error("TLS: a message of over {max} bytes", max = super::scratch::UNPROCESSED_MAX)]
    TooLarge,
    /// The caller wrote after it had sent its own close_notify.
    #[error("TLS: written after close_notify")]
    Ended,
    /// The caller wrote before the end of the handshake.
    #[error("TLS: written before the end of the handshake")]
    Handshaking,
}

/// Fault of a client in its handshake.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HandshakeFault {
    /// The client speaks plain HTTP.
    PlainHttp,
    /// The client sent no certificate although one is required.
    NoCertificate,
    /// The client's certificate is rejected.
    Certificate,
    /// The two sides have no version, cipher suite or other parameter in common.
    NothingInCommon,
    /// The client aborted the handshake with an alert.
    Alert,
    /// The client violates the protocol or speaks another one.
    Protocol,
}

impl TlsFailure {
    /// Returns the client's fault, if it caused the failure. `None` = the client disconnected, or the fault
    /// is elsewhere.
    pub fn handshake_fault(&self) -> Option<HandshakeFault> {
        use rustls::Error;
        match self {
            Self::PlainHttp => Some(HandshakeFault::PlainHttp),
            Self::Protocol(Error::NoCertificatesPresented) => Some(HandshakeFault::NoCertificate),
            Self::Protocol(Error::InvalidCertificate(_)) => Some(HandshakeFault::Certificate),
            // A general error means that no configured certificate suits the client.
            Self::Protocol(Error::PeerIncompatible(_) | Error::NoApplicationProtocol | Error::General(_)) => {
                Some(HandshakeFault::NothingInCommon)
            }
            Self::Protocol(Error::AlertReceived(_)) => Some(HandshakeFault::Alert),
            Self::Protocol(_) | Self::TooLarge => Some(HandshakeFault::Protocol),
            Self::EndInHandshake | Self::Truncated | Self::Ended | Self::Handshaking => None,
        }
    }

    /// Returns the failure inside an error of a TLS stream; `None` = the error is the socket's.
    pub fn of(error: &io::Error) -> Option<&Self> {
        error.get_ref()?.downcast_ref()
    }

    fn kind(&self) -> io::ErrorKind {
        match self {
            Self::EndInHandshake | Self::Truncated => io::ErrorKind::UnexpectedEof,
            Self::Ended => io::ErrorKind::BrokenPipe,
            Self::Handshaking => io::ErrorKind::NotConnected,
            Self::Protocol(_) | Self::PlainHttp | Self::TooLarge => io::ErrorKind::InvalidData,
        }
    }
}

impl From<rustls::Error> for TlsFailure {
    fn from(error: rustls::Error) -> Self {
        Self::Protocol(error)
    }
}

impl From<TlsFailure> for io::Error {
    fn from(failure: TlsFailure) -> Self {
        Self::new(failure.kind(), failure)
    }
}

#[cfg(test)]
mod tests {
    use rustls::{AlertDescription, CertificateError, Error, PeerIncompatible};

    use super::*;

    #[test]
    fn whose_fault_a_handshake_is_can_be_told() {
        let of = |error: Error| TlsFailure::from(error).handshake_fault();
        assert_eq!(of(Error::NoCertificatesPresented), Some(HandshakeFault::NoCertificate));
        let expired = Error::InvalidCertificate(CertificateError::Expired);
        assert_eq!(of(expired), Some(HandshakeFault::Certificate));
        let too_old = Error::PeerIncompatible(PeerIncompatible::Tls12NotOffered);
        assert_eq!(of(too_old), Some(HandshakeFault::NothingInCommon));
        let distrusts = Error::AlertReceived(AlertDescription::UnknownCA);
        assert_eq!(of(distrusts), Some(HandshakeFault::Alert));
        assert_eq!(of(Error::DecryptError), Some(HandshakeFault::Protocol));
        assert_eq!(TlsFailure::PlainHttp.handshake_fault(), Some(HandshakeFault::PlainHttp));
        assert_eq!(TlsFailure::EndInHandshake.handshake_fault(), None);
    }
}
