//! `[[route]]`: what a request must match, and what happens to it.

pub(crate) mod keys;
pub(crate) mod print;
pub(crate) mod read;
