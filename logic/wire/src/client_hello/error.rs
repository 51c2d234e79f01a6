//! Reasons why bytes are not a valid ClientHello.

use std::fmt;

use super::MESSAGE_BYTES_MAX;

/// Reason why bytes are not a valid ClientHello.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ClientHelloError {
    /// The connection does not begin with a TLS handshake record.
    NotTls,
    /// A record is empty or longer than 16 KiB; the number is its length.
    RecordLength(u16),
    /// A record of another type occurs within the message.
    RecordType(u8),
    /// The first handshake message is of another type.
    NotClientHello(u8),
    /// The message is longer than [`MESSAGE_BYTES_MAX`]; the number is its length.
    TooLong(usize),
    /// The message is split into too many records.
    TooManyRecords,
    /// The named part of the message is cut off or inconsistent.
    Malformed(&'static str),
}

impl fmt::Display for ClientHelloError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TLS ClientHello: ")?;
        match self {
            Self::NotTls => f.write_str("the connection does not begin with a TLS handshake"),
            Self::RecordLength(bytes) => write!(f, "a record of {bytes} bytes (1 to 16384 are allowed)"),
            Self::RecordType(kind) => write!(f, "interrupted by a record of type {kind}"),
            Self::NotClientHello(kind) => write!(f, "the first message is of type {kind}, not 1"),
            Self::TooLong(bytes) => write!(f, "{bytes} bytes are too many: at most {MESSAGE_BYTES_MAX}"),
            Self::TooManyRecords => f.write_str("spread over too many records"),
            Self::Malformed(part) => write!(f, "malformed {part}"),
        }
    }
}

impl std::error::Error for ClientHelloError {}
