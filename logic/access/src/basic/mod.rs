//! Passwords: the `Authorization: Basic` header (RFC 7617), htpasswd files, and a brief memory for passwords that were
//! right.
//!
//! A check is slow by design (tens of milliseconds), so it comes as a value, [`PasswordCheck`], that owns what it needs and
//! can be sent to a thread where waiting harms nobody. [`PositiveCache`] spares most of them.

mod cache;
mod header;
mod htpasswd;
mod sha_crypt;

pub use cache::{PasswordFingerprint, PositiveCache};
pub use header::{Authorization, HeaderFault, decode_client_credentials, parse_authorization};
pub use htpasswd::{Htpasswd, HtpasswdError, PasswordCheck};
