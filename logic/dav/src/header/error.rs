use crate::outcome::Outcome;
use crate::path::PathError;

/// Why a header is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum HeaderError {
    /// Depth is none of 0, 1 and infinity.
    #[error("Depth must be 0, 1 or infinity (RFC 4918 section 10.2)")]
    Depth,
    /// This method has no such depth.
    #[error("the method does not take this Depth (RFC 4918 section 9)")]
    DepthForMethod,
    /// Overwrite is neither T nor F.
    #[error("Overwrite must be T or F (RFC 4918 section 10.6)")]
    Overwrite,
    /// Lock-Token is no absolute URI in angle brackets.
    #[error("a lock token must be an absolute URI in angle brackets (RFC 4918 section 10.5)")]
    LockToken,
    /// Destination is neither an absolute URI nor a path.
    #[error("Destination must be an absolute URI or a path (RFC 4918 section 10.3)")]
    Destination,
    /// Destination has a scheme that nobody speaks here.
    #[error("the scheme of a URL must be http, https, dav or davs")]
    Scheme,
    /// User names and fragments do not belong there; neither does the query of a resource here.
    #[error("a user name, a fragment or a query in Destination")]
    DestinationPart,
    /// X-OC-Mtime is no number of seconds.
    #[error("X-OC-Mtime must be a number of seconds since 1970")]
    ClientMtime,
    /// Its path is unsound.
    #[error("Destination: {0}")]
    Path(#[from] PathError),
}

impl HeaderError {
    /// What the client gets. Also for a path that is too long: 414 is about the target of a request alone (RFC 9110
    /// section 15.5.15).
    pub const fn outcome(self) -> Outcome {
        Outcome::BadHeader
    }
}
