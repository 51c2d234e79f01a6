//! Passwords: the `Authorization: Basic` header (RFC 7617), htpasswd files, and a short-lived cache of right
//! passwords.
//!
//! A check is slow by design (tens of milliseconds). So it is a value, [`PasswordCheck`], that owns its data
//! and can be sent to a thread that may block. [`PasswordCache`] avoids most checks, [`PasswordAttempts`]
//! limits the number that a client can cause, and [`CheckQueue`] prevents one client's checks from delaying
//! those of others.

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
