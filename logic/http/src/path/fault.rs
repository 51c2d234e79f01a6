//! Errors of request paths.

use std::fmt;

/// The reason to refuse a path: different programs may interpret it as different paths.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PathFault {
    /// A `%` without two hexadecimal digits.
    BadEscape,
    /// `%00`.
    Nul,
    /// `%2F`.
    EncodedSlash,
    /// `\` or `%5C`.
    Backslash,
    /// A `..` that leads above the root.
    AboveRoot,
    /// Parameters of a segment that are refused, or a dot segment with parameters, such as `..;`.
    Parameters,
}

impl PathFault {
    /// Returns the key of `[listener.NAME.paths]` that controls this error.
    pub const fn key(self) -> &'static str {
        match self {
            Self::BadEscape => "bad-escape",
            Self::Nul => "nul",
            Self::EncodedSlash => "encoded-slash",
            Self::Backslash => "backslash",
            Self::AboveRoot => "above-root",
            Self::Parameters => "parameters",
        }
    }
}

impl fmt::Display for PathFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::BadEscape => "the path has a % without two hexadecimal digits (RFC 3986 section 2.1)",
            Self::Nul => "the path has an encoded NUL (%00)",
            Self::EncodedSlash => "the path has an encoded slash (%2F)",
            Self::Backslash => "the path has a backslash",
            Self::AboveRoot => "the path leads above the root (RFC 3986 section 5.2.4)",
            Self::Parameters => {
                "the path has parameters of a segment that are refused, or of a dot segment (..;)"
            }
        })
    }
}

impl std::error::Error for PathFault {}
