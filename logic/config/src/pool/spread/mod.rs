//! `zone`, `subset`, `slow-start`, `auto-weight` and `agent`: distribution of load over the servers of a
//! pool.

pub(crate) mod keys;
pub(crate) mod read;
