//! `sticky`: sticky sessions, which keep clients at their server.

pub(crate) mod keys;
pub(crate) mod plan;
pub(crate) mod print;
pub(crate) mod read;
