//! Verification of JSON Web Tokens: JWS in compact form (RFC 7515), algorithms (RFC 7518, RFC 8037), and
//! claims (RFC 7519), with the advice of RFC 8725.
//!
//! The algorithms of an issuer come from the configuration, never from the token. This prevents attacks with
//! `none` or with HMAC under a public key. Header members that contain keys (`jwk`, `jku`, `x5u`, `x5c`) are
//! ignored; tokens with `crit` are rejected. Tokens that are not access tokens are rejected. No error shows
//! any part of a token.

mod cache;
mod claims;
mod error;
mod jws;
mod key;
mod key_set;
mod kind;
mod metadata;
mod times;

pub use crate::algorithm::Algorithm;
pub use cache::{CachePolicy, KeyCache, KeySearch};
pub use claims::Claims;
pub use error::TokenError;
pub use jws::Jws;
pub use key::VerificationKey;
pub use key_set::{KeySet, KeySetError};
pub use kind::TypeRule;
pub(crate) use kind::{check_kind, check_own_type};
pub use metadata::{Metadata, MetadataError, metadata_urls};
pub use times::check_times;
