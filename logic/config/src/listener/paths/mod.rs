//! `[listener.NAME.paths]`: the accepted spellings of a path.

pub(crate) mod keys;
pub(crate) mod print;
pub(crate) mod read;
