//! The Depth header (RFC 4918 section 10.2).

use serde::{Deserialize, Serialize};

use super::HeaderError;
use crate::text::trim;

/// The levels below a collection that a request applies to (RFC 4918 section 10.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Depth {
    /// The resource alone.
    Zero,
    /// The resource and its members.
    One,
    /// The resource and everything below it.
    Infinity,
}

/// The set of depths that a method accepts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DepthUse {
    /// PROPFIND: 0, 1 or infinity (RFC 4918 section 9.1).
    Propfind,
    /// COPY of a collection: 0 or infinity (RFC 4918 section 9.8.3).
    Copy,
    /// LOCK: 0 or infinity (RFC 4918 section 9.10.3).
    Lock,
    /// DELETE and MOVE of a collection: infinity (RFC 4918 sections 9.6.1 and 9.9.2).
    Whole,
}

impl Depth {
    /// Parses the depth of a request. The default is infinity for each of these methods.
    pub fn read(header: Option<&[u8]>, used: DepthUse) -> Result<Self, HeaderError> {
        let Some(text) = header else { return Ok(Self::Infinity) };
        let depth = match trim(text) {
            b"0" => Self::Zero,
            b"1" => Self::One,
            word if word.eq_ignore_ascii_case(b"infinity") => Self::Infinity,
            _ => return Err(HeaderError::Depth),
        };
        let taken = match used {
            DepthUse::Propfind => true,
            DepthUse::Copy | DepthUse::Lock => depth != Self::One,
            DepthUse::Whole => depth == Self::Infinity,
        };
        if taken { Ok(depth) } else { Err(HeaderError::DepthForMethod) }
    }

    /// Returns the value as in the header and in DAV:depth.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Zero => "0",
            Self::One => "1",
            Self::Infinity => "infinity",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::DepthUse::*;
    use super::*;

    #[test]
    fn each_method_takes_its_depths() {
        for (text, used, depth) in [
            (None, Propfind, Ok(Depth::Infinity)),
            (None, Lock, Ok(Depth::Infinity)),
            (Some("0"), Propfind, Ok(Depth::Zero)),
            (Some(" 1 "), Propfind, Ok(Depth::One)),
            (Some("Infinity"), Propfind, Ok(Depth::Infinity)),
            (Some("0"), Copy, Ok(Depth::Zero)),
            (Some("1"), Copy, Err(HeaderError::DepthForMethod)),
            (Some("1"), Lock, Err(HeaderError::DepthForMethod)),
            (Some("0"), Whole, Err(HeaderError::DepthForMethod)),
            (Some("infinity"), Whole, Ok(Depth::Infinity)),
            (Some("2"), Propfind, Err(HeaderError::Depth)),
            (Some(""), Propfind, Err(HeaderError::Depth)),
            (Some("1,noroot"), Propfind, Err(HeaderError::Depth)),
        ] {
            assert_eq!(Depth::read(text.map(str::as_bytes), used), depth, "{text:?} {used:?}");
        }
    }
}
