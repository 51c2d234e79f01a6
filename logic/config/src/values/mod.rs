//! Checks a tree against the definitions of its keys, and reads typed values from it.

pub(crate) mod merge;
pub(crate) mod quantity;
pub(crate) mod scalar;
pub(crate) mod shape;
pub(crate) mod subject;
pub(crate) mod suggest;
pub(crate) mod table;
