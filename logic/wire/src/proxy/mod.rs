//! The PROXY protocol, versions 1 and 2: who the client behind a proxy is, told ahead of the connection's own bytes
//! (HAProxy's doc/proxy-protocol.txt).
//!
//! Parsing is strict: whoever may send this header decides which address is believed. Whether a peer may is for the
//! caller to know.

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

/// On whose behalf a connection is made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Command {
    /// The proxy's own, such as a health check: the connection's real addresses count.
    Local,
    /// A client's.
    Proxy(Endpoints),
}

/// The two ways to write a header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Version {
    /// A line of text.
    V1,
    /// Binary.
    V2,
}

/// How far a parser got.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Parsed {
    /// All right so far, but not the whole header yet.
    Incomplete,
    /// The whole header.
    Complete {
        /// What it says.
        command: Command,
        /// Which version it was written in.
        version: Version,
        /// Its length in bytes: the connection's own begin here.
        consumed: usize,
    },
}

/// Parses the header at the start of `input`, the bytes that have come so far. A header that cannot become valid is
/// an error at once; the parser never asks for more than [`V1_BYTES_MAX`] or [`V2_BYTES_MAX`] bytes.
pub fn parse(input: &[u8]) -> Result<Parsed, ProxyError> {
    match input.first() {
        None => Ok(Parsed::Incomplete),
        Some(b'P') => parse_v1::parse(input),
        Some(b'\r') => parse_v2::parse(input),
        Some(_) => Err(ProxyError::NotProxy),
    }
}
