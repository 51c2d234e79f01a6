//! Errors of the WebDAV headers.

use crate::outcome::Outcome;
use crate::path::PathError;

/// The reason to refuse a header.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum HeaderError {
    /// Depth is not 0, 1 or infinity.
    #[error("Depth must be 0, 1 or infinity (RFC 4918 section 10.2)")]
    Depth,
    /// The method does not accept this depth.
    #[error("the method does not take this Depth (RFC 4918 section 9)")]
    DepthForMethod,
    /// Overwrite is neither T nor F.
    #[error("Overwrite must be T or F (RFC 4918 section 10.6)")]
    Overwrite,
    /// Lock-Token is not an absolute URI in angle brackets.
    #[error("a lock token must be an absolute URI in angle brackets (RFC 4918 section 10.5)")]
    LockToken,
    /// Destination is neither an absolute URI nor a path.
    #[error("Destination must be an absolute URI or a path (RFC 4918 section 10.3)")]
    Destination,
    /// The scheme of the destination is not supported.
    #[error("the scheme of a URL must be http, https, dav or davs")]
    Scheme,
    /// Destination has a user name or a fragment, or the query of a resource of this service.
    #[error("a user name, a fragment or a query in Destination")]
    DestinationPart,
    /// X-OC-Mtime is not a number of seconds.
    #[error("X-OC-Mtime must be a number of seconds since 1970")]
    ClientMtime,
    /// The path of the destination is invalid.
    #[error("Destination: {0}")]
    Path(#[from] PathError),
}

impl HeaderError {
    /// Returns the outcome for the client. It is the same for a path that is too long, because 414 concerns
    /// only the request target (RFC 9110 section 15.5.15).
    pub const fn outcome(self) -> Outcome {
        Outcome::BadHeader
    }
}
