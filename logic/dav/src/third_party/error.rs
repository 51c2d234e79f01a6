use crate::header::HeaderError;

/// Why a request for a third-party copy is refused: 400, with this text.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TransferError {
    /// Source, and a Destination on another server: neither end is here.
    #[error("a third-party copy has either Source or Destination on another server, not both")]
    BothElsewhere,
    /// Source is no URL of a server.
    #[error("Source must be an http, https, dav or davs URL without user name and fragment")]
    Source,
    /// Destination, or Overwrite, cannot be read.
    #[error("{0}")]
    Header(HeaderError),
    /// A credential would have to be delegated to this server, in the way of this name: as a client sent it, printable, and cut off
    /// where it is long.
    #[error(
        "Credential: {0} is not supported, only none is, as nothing can be delegated to this server: pass a token on with \
         TransferHeaderAuthorization"
    )]
    Credential(String),
    /// RequireChecksumVerification is neither true nor false.
    #[error("RequireChecksumVerification must be true or false")]
    Verification,
    /// X-Number-Of-Streams is no number.
    #[error("X-Number-Of-Streams must be a number")]
    Streams,
    /// A TransferHeader names a header that belongs to the connection or to the transfer itself, or one by which proxies tell who a
    /// client is.
    #[error("a TransferHeader would change how the transfer itself is made, or who asks for it")]
    PassedHeader,
    /// A header that may be there once is there several times.
    #[error("a header of the third-party copy is there more than once")]
    Repeated,
}

impl From<HeaderError> for TransferError {
    fn from(error: HeaderError) -> Self {
        Self::Header(error)
    }
}
