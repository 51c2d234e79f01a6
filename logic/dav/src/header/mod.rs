//! The headers that WebDAV adds to HTTP (RFC 4918 section 10), except If.

mod client_mtime;
mod depth;
mod destination;
mod error;
mod lock_token;
mod overwrite;
mod timeout;

pub use client_mtime::client_mtime;
pub use depth::{Depth, DepthUse};
pub use destination::{Destination, OwnNames, RemoteUrl, Scheme};
pub use error::HeaderError;
pub use lock_token::LockToken;
pub use overwrite::overwrites;
pub use timeout::{TimeoutPolicy, timeout_text};
