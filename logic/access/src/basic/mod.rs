//! Passwords: the `Authorization: Basic` header (RFC 7617), htpasswd files, and a brief memory for passwords that were
//! right.
//!
//! A check is slow by design (tens of milliseconds), so it comes as a value, [`PasswordCheck`], that owns what it needs and
//! can be sent to a thread where waiting harms nobody. [`PasswordCache`] spares most of them, [`PasswordAttempts`] limits how many
//! a client can cause, and [`CheckQueue`] keeps one client's from delaying the others'.

mod attempts;
mod cache;
mod check_queue;
mod header;
mod htpasswd;
mod sha_crypt;

pub use attempts::{Attempt, AttemptEnd, PasswordAttempts, UserKey};
pub use cache::{PasswordCache, PasswordFingerprint};
pub use check_queue::CheckQueue;
pub use header::{Authorization, HeaderFault, decode_client_credentials, parse_authorization};
pub use htpasswd::{Htpasswd, HtpasswdError, PasswordCheck};
