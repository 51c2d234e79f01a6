//! `queue` and `concurrency`: how many requests servers take at once.

pub(crate) mod keys;
pub(crate) mod read;
