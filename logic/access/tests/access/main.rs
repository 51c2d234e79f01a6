//! Identities, tokens, rules and what comes of them, through the crate's public face.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // A helper that fails is a test that fails.

mod cedar;
mod common;
mod convert;
mod convert_rights;
mod crypto;
mod holders;
mod identities;
mod issuing;
mod keys;
mod password_attempts;
mod passwords;
mod paths;
mod redacting;
mod refusals;
mod rules;
mod scopes;
mod tokens;
