//! Values that several sections of the config share: how to read and to print them.

pub(crate) mod addresses;
pub(crate) mod choice;
pub(crate) mod expression;
pub(crate) mod header;
pub(crate) mod keys;
pub(crate) mod matching;
pub(crate) mod named;
pub(crate) mod names;
pub(crate) mod paths;
pub(crate) mod patterns;
pub(crate) mod print;
pub(crate) mod secret;
pub(crate) mod writer;
pub(crate) mod zone;
