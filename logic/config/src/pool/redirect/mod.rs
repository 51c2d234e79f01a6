//! `redirect`: clients that are sent on to a server.

pub(crate) mod keys;
pub(crate) mod plan;
pub(crate) mod read;
