//! `[fleet.NAME]`: servers that Weir adds and removes with demand.

pub(crate) mod command;
pub(crate) mod haproxy;
pub(crate) mod keys;
pub(crate) mod kubernetes;
pub(crate) mod lease;
pub(crate) mod plan;
pub(crate) mod print;
pub(crate) mod read;
pub(crate) mod rules;
