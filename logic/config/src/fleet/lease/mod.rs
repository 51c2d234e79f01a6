//! `[fleet.NAME.lease]`: the lease by which several Weirs elect the one that controls a fleet.

pub(crate) mod keys;
pub(crate) mod plan;
pub(crate) mod print;
pub(crate) mod read;
