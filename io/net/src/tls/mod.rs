//! TLS to clients and to servers: rustls with aws-lc-rs, driven directly over a polled socket.
//!
//! [`ServerTls`] and [`ClientTls`] are created from the plan and shared by all workers; [`TlsStream`] is one
//! connection. This module only recognizes HTTP in place of TLS. It reads files when it loads, checks and
//! reloads. Those calls block, so they belong on the control plane's thread.

mod certificate;
mod check;
mod chooser;
mod client;
mod client_auth;
mod client_verifier;
mod error;
mod expiry;
mod explain;
mod failure;
mod files;
mod legacy_list;
mod name;
mod odd_name;
mod p521;
mod peer;
mod pins;
mod provider;
mod queue;
mod raw_io;
mod scratch;
mod server;
mod server_verifier;
mod session;
mod signed;
mod sni;
mod stream;
mod tickets;
mod transcript;
mod unverified;

pub use certificate::CertificateSummary;
pub use check::{TlsReport, check_certificate, check_tls_in, check_tls_out};
pub use client::{ClientTls, TlsConnector};
pub use error::{FileProblem, FileRole, TlsError};
pub use expiry::{EXPIRY_WARNING_DAYS, Expiry};
pub use failure::{HandshakeFault, TlsFailure};
pub use provider::cipher_names;
pub use raw_io::RawIo;
pub use server::ServerTls;
pub use stream::TlsStream;
