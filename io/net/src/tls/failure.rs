use std::io;

/// Why a TLS connection broke. Travels inside an [`io::Error`]: see [`TlsFailure::of`].
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum TlsFailure {
    /// The peer broke the protocol, was refused, or refused.
    #[error("TLS: {0}")]
    Protocol(#[from] rustls::Error),
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

impl TlsFailure {
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

impl From<TlsFailure> for io::Error {
    fn from(failure: TlsFailure) -> Self {
        Self::new(failure.kind(), failure)
    }
}
