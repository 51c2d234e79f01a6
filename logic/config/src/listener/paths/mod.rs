//! `[listener.NAME.paths]`: which spellings of a path are accepted.

pub(crate) mod keys;
pub(crate) mod print;
pub(crate) mod read;
