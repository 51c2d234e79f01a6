//! `redirect`: redirects of clients to the servers of a pool.

pub(crate) mod keys;
pub(crate) mod plan;
pub(crate) mod read;
