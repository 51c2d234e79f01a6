//! `offload`: files that the balancer sends in place of a server.

pub(crate) mod keys;
pub(crate) mod plan;
pub(crate) mod read;
