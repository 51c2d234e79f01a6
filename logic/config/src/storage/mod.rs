//! `[storage-area.NAME]`: directory trees that Weir serves, and the tokens that give access to them.

pub(crate) mod keys;
pub(crate) mod plan;
pub(crate) mod policy;
pub(crate) mod print;
pub(crate) mod read;
pub(crate) mod third_party;
pub(crate) mod token_endpoint;
