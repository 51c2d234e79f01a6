//! `[[route]]`: conditions for requests, and the action for them.

pub(crate) mod keys;
pub(crate) mod print;
pub(crate) mod read;
