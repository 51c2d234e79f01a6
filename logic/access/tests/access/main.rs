//! Tests of the crate's public interface: identities, tokens, rules, and responses to refused requests.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // A failed helper is a failed test.

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
