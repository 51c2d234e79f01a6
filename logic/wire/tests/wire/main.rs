//! Each protocol, through the crate's public face.
#![allow(clippy::unwrap_used, clippy::panic)] // A helper that fails is a test that fails.

mod agent;
mod client_hello;
mod proxy_protocol;
mod rdp;
mod resp;
