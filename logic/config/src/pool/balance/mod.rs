//! `balance`: the algorithm of a pool and its options.

pub(crate) mod keys;
pub(crate) mod plan;
pub(crate) mod print;
pub(crate) mod read;
