//! Tests of TLS over real sockets, against itself, rustls's own client, OpenSSL and curl.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "what goes wrong here fails a test"
)]

mod ciphers;
mod client_auth;
mod garbage;
mod interop;
mod names;
mod outgoing;
mod reload;
mod resumption;
mod stream;
mod support;
mod versions;
