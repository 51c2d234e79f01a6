use std::fmt;

use super::MESSAGE_BYTES_MAX;

/// Why bytes are not a ClientHello that can be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ClientHelloError {
    /// The connection does not begin with a TLS handshake record.
    NotTls,
    /// A record that is empty, or over 16 KiB.
    RecordLength(u16),
    /// Another kind of record before the message was whole.
    RecordType(u8),
    /// The first handshake message is another one.
    NotClientHello(u8),
    /// The message is longer than is accepted; its length.
    TooLong(usize),
    /// Spread over more records than is accepted.
    TooManyRecords,
    /// The part of the message that is cut off or contradicts itself.
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
