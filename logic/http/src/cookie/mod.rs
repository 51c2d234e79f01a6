//! Cookies in heads (RFC 6265): finding one among a client's, taking one out without disturbing the others, and writing
//! or changing a server's.
//!
//! A browser sends what it was given, so everything here works on bytes and passes on what it does not understand.

mod edit;
mod pairs;
mod set_cookie;

pub use edit::{CookieEdit, PREFIX_END, SetCookieEdit};
pub use pairs::{cookie_pairs, cookies_named, is_cookie_name, is_cookie_value, set_cookie_pair};
pub use set_cookie::{CookieAttributes, SameSite, append_set_cookie};
