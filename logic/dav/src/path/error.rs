//! Errors of resource paths.

use crate::outcome::Outcome;

/// The reason to refuse a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum PathError {
    /// The path does not begin with a slash.
    #[error("a path that does not begin with a slash")]
    NotAbsolute,
    /// A percent sign without two hexadecimal digits (RFC 3986 section 2.1).
    #[error("a percent sign without two hexadecimal digits (RFC 3986 section 2.1)")]
    Escape,
    /// `%2F`: some programs would decode it to a slash, others would keep it as a part of the name.
    #[error("an encoded slash in a path")]
    EncodedSlash,
    /// `%00`: no file name can contain it.
    #[error("a NUL byte in a path")]
    Nul,
    /// `?` or `#`: they end a path.
    #[error("a query or a fragment where a path is meant")]
    NotPath,
    /// A segment `.` or `..`, in any encoding.
    #[error("a segment . or .. in a path")]
    DotSegment,
    /// A name is empty.
    #[error("an empty name")]
    EmptyName,
    /// The path is longer than [`super::PathLimits::bytes_max`].
    #[error("the path is too long")]
    TooLong,
    /// A segment is longer than [`super::PathLimits::name_bytes_max`].
    #[error("a name in the path is too long")]
    NameTooLong,
    /// The path has more segments than [`super::PathLimits::depth_max`].
    #[error("the path has too many segments")]
    TooDeep,
}

impl PathError {
    /// Returns the outcome for a request whose target has such a path.
    pub const fn outcome(self) -> Outcome {
        match self {
            Self::TooLong | Self::NameTooLong | Self::TooDeep => Outcome::PathTooLong,
            _ => Outcome::BadPath,
        }
    }
}
