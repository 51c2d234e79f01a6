//! `[third-party-copy]`: copies between storage areas and other servers.

pub(crate) mod keys;
pub(crate) mod plan;
pub(crate) mod print;
pub(crate) mod read;
