//! `zone`, `subset`, `slow-start`, `auto-weight` and `agent`: how load spreads over the servers of a pool.

pub(crate) mod keys;
pub(crate) mod read;
