//! `[token-endpoint.NAME]`: an endpoint that issues Weir's own tokens.

pub(crate) mod keys;
pub(crate) mod read;
