//! The WLCG common JWT profile, versions 1.x: which claims a token must have, and what its storage scopes permit.

mod permit;
mod profile;
mod scope;

pub use profile::{AUDIENCE_ANY, ProfileVersion, check_profile};
pub use scope::{Operation, ScopeSet, StorageScope};
