//! Small wire protocols and encodings: the PROXY protocol, the TLS ClientHello, HAProxy's agent-check, the
//! cookie of remote desktop connections, RESP, and base64url.
//!
//! The crate is pure. A parser gets the bytes received so far and returns the message, or reports that it
//! needs more bytes. It keeps no state between calls and never reads past the message. No input makes a
//! parser panic, and each parser limits its memory.

pub mod agent;
pub mod base64url;
mod bytes;
pub mod client_hello;
mod crc32c;
pub mod proxy;
pub mod rdp;
pub mod resp;
