//! `[fleet.NAME.lease]`: the lease that decides which of several Weirs controls a fleet.

pub(crate) mod keys;
pub(crate) mod plan;
pub(crate) mod print;
pub(crate) mod read;
