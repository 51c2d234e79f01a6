//! `[listener.NAME]` and `[[route]]`: addresses that accept, and where each request goes.

pub(crate) mod diff;
pub(crate) mod keys;
pub(crate) mod paths;
pub(crate) mod plan;
pub(crate) mod print;
pub(crate) mod read;
pub(crate) mod route;
