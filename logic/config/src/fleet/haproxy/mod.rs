//! `[fleet.NAME.haproxy]`: a fleet whose servers are in a HAProxy backend.

pub(crate) mod keys;
pub(crate) mod read;
