//! The ClientHello, the first message of a TLS connection. Weir reads the requested server name and the
//! offered protocols without terminating TLS (RFC 8446 section 4.1.2, RFC 6066 section 3, RFC 7301).
//!
//! The result serves to choose a pool by name when TLS is passed through. The parser checks only the parts
//! that lead to these two extensions. The server that terminates TLS checks the rest.

mod error;
mod message;
mod records;

pub use error::ClientHelloError;
pub use message::{Alpn, ClientHello};

/// Maximum length of a message with its own header, in bytes. It also limits the memory of the parser.
pub const MESSAGE_BYTES_MAX: usize = 16 * 1024;

/// Maximum length of a message with the headers of its records, in bytes.
pub const BYTES_MAX: usize = MESSAGE_BYTES_MAX + records::RECORDS_MAX * records::RECORD_HEAD_BYTES;

/// Result of a parser.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Parsed {
    /// The bytes are valid so far, but the message is not complete.
    Incomplete,
    /// The message is complete.
    Complete(ClientHello),
}

/// Parses the ClientHello at the start of `input`, the bytes received so far. The message may be split into
/// several records. Bytes that cannot become a ClientHello cause an error at once; another protocol fails at
/// its first byte.
///
/// The parser never needs more than [`BYTES_MAX`] bytes.
pub fn parse(input: &[u8]) -> Result<Parsed, ClientHelloError> {
    match records::message(input)? {
        None => Ok(Parsed::Incomplete),
        Some(message) => message::parse(&message).map(Parsed::Complete),
    }
}
