//! `queue` and `concurrency`: limits of the requests that servers handle at the same time.

pub(crate) mod keys;
pub(crate) mod read;
