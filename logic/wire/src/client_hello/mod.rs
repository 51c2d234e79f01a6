//! The first message of a TLS connection, read without taking part in it: which server the client asks for, and
//! which protocols it offers (RFC 8446 section 4.1.2, RFC 6066 section 3, RFC 7301).
//!
//! For choosing a pool by name where TLS is passed through. Only what leads to these two extensions is checked; the
//! rest is for the server that ends TLS.

mod error;
mod message;
mod records;

pub use error::ClientHelloError;
pub use message::{Alpn, ClientHello};

/// The longest message that is accepted, its own header included; also bounds what a parser copies.
pub const MESSAGE_BYTES_MAX: usize = 16 * 1024;

/// The most bytes that a message can take together with its records' headers.
pub const BYTES_MAX: usize = MESSAGE_BYTES_MAX + records::RECORDS_MAX * records::RECORD_HEAD_BYTES;

/// How far a parser got.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Parsed {
    /// All right so far, but not the whole message yet.
    Incomplete,
    /// The whole message.
    Complete(ClientHello),
}

/// Parses the ClientHello at the start of `input`, the bytes that have come so far. It may be spread over several
/// records. What cannot become a ClientHello is an error at once, other protocols at their first byte.
///
/// Never asks for more than [`BYTES_MAX`] bytes.
pub fn parse(input: &[u8]) -> Result<Parsed, ClientHelloError> {
    match records::message(input)? {
        None => Ok(Parsed::Incomplete),
        Some(message) => message::parse(&message).map(Parsed::Complete),
    }
}
