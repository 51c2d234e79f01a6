//! `[fleet.NAME.kubernetes]`: a fleet of pods.

pub(crate) mod keys;
pub(crate) mod read;
