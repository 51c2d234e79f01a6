//! `offload`: files that Weir sends instead of a server.

pub(crate) mod keys;
pub(crate) mod plan;
pub(crate) mod read;
