//! `[fleet.NAME.haproxy]`: a fleet whose servers a HAProxy balances.

pub(crate) mod keys;
pub(crate) mod read;
