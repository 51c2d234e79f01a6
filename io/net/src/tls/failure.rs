use std::io;

use super::explain::explain;

/// Why a TLS connection broke. Travels inside an [`io::Error`]: see [`TlsFailure::of`].
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum TlsFailure {
    /// The peer broke the protocol, was refused, or refused.
    #[error("TLS: {}", explain(.0))]
    Protocol(#[source] rustls::Error),
    /// The first bytes were those of an HTTP request.
    #[error("TLS: the client speaks plain HTTP")]
    PlainHttp,
    /// The connection ended before the handshake did.
    #[error("TLS: the connection ended during the handshake")]
    EndInHandshake,
    /// The connection ended without a close_notify: what came may be less than what was sent (RFC 8446, 6.1).
    #[error("TLS: the connection ended without close_notify")]
    Truncated,
    /// A message larger than anyone needs.
    #[error("TLS: a message of over {max} bytes", max = super::scratch::UNPROCESSED_MAX)]
    TooLarge,
    /// Something was to be written after the own end.
    #[error("TLS: written after close_notify")]
    Ended,
    /// Something was to be written before the handshake was over.
    #[error("TLS: written before the end of the handshake")]
    Handshaking,
}

/// What was wrong with a client in its handshake.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HandshakeFault {
    /// It speaks plain HTTP.
    PlainHttp,
    /// It has shown no certificate, and must.
    NoCertificate,
    /// Its certificate is not accepted.
    Certificate,
    /// There is no version, cipher suite or the like that both sides have.
    NothingInCommon,
    /// It has broken the handshake off with an alert.
    Alert,
    /// It breaks the protocol, or speaks another one.
    Protocol,
}

impl TlsFailure {
    /// What was wrong with the client, if that is why its handshake failed. `None` = it went away, or the fault is elsewhere.
    pub fn handshake_fault(&self) -> Option<HandshakeFault> {
        use rustls::Error;
        match self {
            Self::PlainHttp => Some(HandshakeFault::PlainHttp),
            Self::Protocol(Error::NoCertificatesPresented) => Some(HandshakeFault::NoCertificate),
            Self::Protocol(Error::InvalidCertificate(_)) => Some(HandshakeFault::Certificate),
            // The general one is that no certificate of ours suits the client.
            Self::Protocol(Error::PeerIncompatible(_) | Error::NoApplicationProtocol | Error::General(_)) => {
                Some(HandshakeFault::NothingInCommon)
            }
            Self::Protocol(Error::AlertReceived(_)) => Some(HandshakeFault::Alert),
            Self::Protocol(_) | Self::TooLarge => Some(HandshakeFault::Protocol),
            Self::EndInHandshake | Self::Truncated | Self::Ended | Self::Handshaking => None,
        }
    }

    /// The failure that an error of a TLS stream carries; `None` = the error is the socket's.
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
