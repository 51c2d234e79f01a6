//! Errors of third-party copies.

use crate::header::HeaderError;

/// The reason to refuse a third-party copy with 400 and this text.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TransferError {
    /// Source is present and Destination is on another server: neither end is this server.
    #[error("a third-party copy has either Source or Destination on another server, not both")]
    BothElsewhere,
    /// Source is not a URL of a server.
    #[error("Source must be an http, https, dav or davs URL without user name and fragment")]
    Source,
    /// Destination or Overwrite is malformed.
    #[error("{0}")]
    Header(HeaderError),
    /// The client requests delegation of a credential by this method, which Weir does not support. Holds the
    /// client's text, escaped to printable characters and cut to a maximum length.
    #[error(
        "Credential: {0} is not supported, only none is, as nothing can be delegated to this server: pass a token on with \
         TransferHeaderAuthorization"
    )]
    Credential(String),
    /// RequireChecksumVerification is not true or false.
    #[error("RequireChecksumVerification must be true or false")]
    Verification,
    /// X-Number-Of-Streams is not a number.
    #[error("X-Number-Of-Streams must be a number")]
    Streams,
    /// A TransferHeader names a header of the connection or of the transfer itself, or a header in which
    /// proxies send the identity of a client.
    #[error("a TransferHeader would change how the transfer itself is made, or who asks for it")]
    PassedHeader,
    /// A header that may occur only once is repeated.
    #[error("a header of the third-party copy is there more than once")]
    Repeated,
}

impl From<HeaderError> for TransferError {
    fn from(error: HeaderError) -> Self {
        Self::Header(error)
    }
}
