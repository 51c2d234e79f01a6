//! Cookies in message heads (RFC 6265): reads a client's cookies, removes one without a change to the others,
//! and writes or edits a server's.
//!
//! Works on bytes and forwards anything that it cannot parse, because a browser returns exactly what it
//! received.

mod edit;
mod pairs;
mod set_cookie;

pub use edit::{CookieEdit, PREFIX_END, SetCookieEdit};
pub use pairs::{cookie_pairs, cookies_named, is_cookie_name, is_cookie_value, set_cookie_pair};
pub use set_cookie::{CookieAttributes, SameSite, append_set_cookie};
