//! Reasons why bytes are not a valid PROXY header.

use std::fmt;

/// Reason why bytes are not a valid PROXY header. The sender is at fault in every case, and the receiver must
/// close the connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ProxyError {
    /// The bytes begin with neither version's signature.
    NotProxy,
    /// Version 1: no CR LF within 107 bytes, or a CR or LF alone.
    LineEnd,
    /// Version 1: the protocol is not TCP4, TCP6 or UNKNOWN.
    Protocol,
    /// Version 1: not exactly two addresses of the stated family and two ports, separated by single spaces.
    Addresses,
    /// Version 2: byte 13 has another version in its upper half, or an unknown command in its lower half.
    VersionOrCommand(u8),
    /// Version 2: byte 14 has an unknown family or transport.
    Family(u8),
    /// Version 2: the header is too long; the number is its total length in bytes.
    TooLong(usize),
    /// Version 2: the header is too short for the addresses of its family.
    TooShort,
    /// Version 2: an additional field (TLV) extends past the end of the header.
    Field,
    /// Version 2: the checksum field is duplicate, is not 4 bytes long, or does not match.
    Checksum,
}

impl fmt::Display for ProxyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PROXY header: ")?;
        match self {
            Self::NotProxy => f.write_str("the connection does not begin with one"),
            Self::LineEnd => f.write_str("the line does not end with CR LF within 107 bytes"),
            Self::Protocol => f.write_str("the protocol is none of TCP4, TCP6 and UNKNOWN"),
            Self::Addresses => f.write_str("the addresses or ports are malformed"),
            Self::VersionOrCommand(byte) => write!(f, "unknown version or command {byte:#04x}"),
            Self::Family(byte) => write!(f, "unknown address family or transport {byte:#04x}"),
            Self::TooLong(bytes) => write!(f, "{bytes} bytes are too many: at most {}", super::V2_BYTES_MAX),
            Self::TooShort => f.write_str("too short for the addresses of its family"),
            Self::Field => f.write_str("an additional field reaches past its end"),
            Self::Checksum => f.write_str("the checksum does not match"),
        }
    }
}

impl std::error::Error for ProxyError {}
