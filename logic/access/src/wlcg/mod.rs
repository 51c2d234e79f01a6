//! The WLCG common JWT profile, versions 1.x: the claims that a token must have, and the actions that its
//! storage scopes permit.

mod permit;
mod profile;
mod scope;

pub use profile::{AUDIENCE_ANY, ProfileRule, ProfileVersion, check_profile};
pub use scope::{Operation, ScopeSet, StorageScope};
