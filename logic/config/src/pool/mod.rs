//! `[pool.NAME]`: servers that handle requests, and the choice of one of them.

pub(crate) mod auto_weight;
pub(crate) mod balance;
pub(crate) mod check;
pub(crate) mod diff;
pub(crate) mod failures;
pub(crate) mod key_reader;
pub(crate) mod keys;
pub(crate) mod limits;
pub(crate) mod offload;
pub(crate) mod parts;
pub(crate) mod plan;
pub(crate) mod print;
pub(crate) mod read;
pub(crate) mod redirect;
pub(crate) mod spread;
pub(crate) mod sticky;
