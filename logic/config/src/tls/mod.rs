//! TLS towards clients and towards servers.

pub(crate) mod keys;
pub(crate) mod plan;
pub(crate) mod print;
pub(crate) mod read;
