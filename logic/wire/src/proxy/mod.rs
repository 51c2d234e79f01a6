//! The PROXY protocol, versions 1 and 2 (HAProxy's doc/proxy-protocol.txt). A proxy sends the client's
//! address before the first bytes of the connection.
//!
//! Parsing is strict, because the sender of this header decides which client address Weir uses. The caller
//! decides which peers may send it.

mod address;
mod error;
mod parse_v1;
mod parse_v2;
mod write;

pub use address::{Endpoints, UnixAddress, UnixEndpoints};
pub use error::ProxyError;
pub use parse_v1::V1_BYTES_MAX;
pub use parse_v2::V2_BYTES_MAX;
pub use write::{write_v1, write_v2};

/// The originator of a connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Command {
    /// The proxy itself, for example for a health check. The receiver uses the addresses of the connection
    /// itself.
    Local,
    /// A client of the proxy.
    Proxy(Endpoints),
}

/// The two versions of the header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Version {
    /// A line of text.
    V1,
    /// A binary header.
    V2,
}

/// Result of a parser.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Parsed {
    /// The bytes are valid so far, but the header is not complete.
    Incomplete,
    /// The header is complete.
    Complete {
        /// Content of the header.
        command: Command,
        /// Version of the header.
        version: Version,
        /// Length of the header in bytes; the data of the connection begins here.
        consumed: usize,
    },
}

/// Parses the header at the start of `input`, the bytes received so far. A header that cannot become valid
/// causes an error at once. The parser never needs more than [`V1_BYTES_MAX`] or [`V2_BYTES_MAX`] bytes.
pub fn parse(input: &[u8]) -> Result<Parsed, ProxyError> {
    match input.first() {
        None => Ok(Parsed::Incomplete),
        Some(b'P') => parse_v1::parse(input),
        Some(b'\r') => parse_v2::parse(input),
        Some(_) => Err(ProxyError::NotProxy),
    }
}
