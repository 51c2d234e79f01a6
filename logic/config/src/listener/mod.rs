//! `[listener.NAME]` and `[[route]]`: listening addresses, and the action for each request.

pub(crate) mod diff;
pub(crate) mod keys;
pub(crate) mod paths;
pub(crate) mod plan;
pub(crate) mod print;
pub(crate) mod read;
pub(crate) mod route;
