//! `[token-endpoint.NAME]`: tokens that Weir issues itself.

pub(crate) mod keys;
pub(crate) mod read;
