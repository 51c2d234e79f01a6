//! Small wire protocols and codes: the PROXY protocol, the TLS ClientHello, agent-check, the cookie of remote desktop
//! connections, RESP, base64url.
//!
//! Pure: a parser looks at the bytes that have come so far and says what they are, or that more are needed. It keeps
//! nothing in between and reads no further than the message. Every parser takes any bytes without panicking, and
//! needs an amount of memory that its own limits bound.

pub mod agent;
pub mod base64url;
mod bytes;
pub mod client_hello;
mod crc32c;
pub mod proxy;
pub mod rdp;
pub mod resp;
