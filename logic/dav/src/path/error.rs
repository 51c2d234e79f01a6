use crate::outcome::Outcome;

/// Why a path is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum PathError {
    /// It does not begin with a slash.
    #[error("a path that does not begin with a slash")]
    NotAbsolute,
    /// A percent sign without two hexadecimal digits (RFC 3986 section 2.1).
    #[error("a percent sign without two hexadecimal digits (RFC 3986 section 2.1)")]
    Escape,
    /// `%2F`: some would take it for a slash, others for a part of a name.
    #[error("an encoded slash in a path")]
    EncodedSlash,
    /// `%00`: no file can have it in its name.
    #[error("a NUL byte in a path")]
    Nul,
    /// `?` or `#`, which end a path.
    #[error("a query or a fragment where a path is meant")]
    NotPath,
    /// A segment `.` or `..`, in whatever encoding.
    #[error("a segment . or .. in a path")]
    DotSegment,
    /// The name of a member is empty.
    #[error("an empty name")]
    EmptyName,
    /// Longer than [`super::PathLimits::bytes_max`].
    #[error("the path is too long")]
    TooLong,
    /// A segment is longer than [`super::PathLimits::name_bytes_max`].
    #[error("a name in the path is too long")]
    NameTooLong,
    /// More segments than [`super::PathLimits::depth_max`].
    #[error("the path has too many segments")]
    TooDeep,
}

impl PathError {
    /// What the client gets when its request target is such a path.
    pub const fn outcome(self) -> Outcome {
        match self {
            Self::TooLong | Self::NameTooLong | Self::TooDeep => Outcome::PathTooLong,
            _ => Outcome::BadPath,
        }
    }
}
