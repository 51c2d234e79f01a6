//! Cedar policies of a storage area: parsed and validated once, asked for each request.
//!
//! What they can say is Weir's own schema's business (`policies/schema.cedarschema`): a policy that names an attribute, an action or a
//! type that there is not is an error, and so is one for a path that can never be asked for. What cannot be evaluated fails closed: a
//! `permit` permits nothing, a `forbid` forbids.
//!
//! A build without the feature `cedar` has no policies, and says so: see [`MISSING`].
//!
//! Files are the caller's to read.

#[cfg(not(feature = "cedar"))]
mod absent;
mod fault;
#[cfg(feature = "cedar")]
mod policies;
#[cfg_attr(not(feature = "cedar"), expect(dead_code, reason = "a build without policies gets no verdict"))]
mod verdict;

use std::sync::Arc;

#[cfg(not(feature = "cedar"))]
pub use absent::{CedarPolicies, CedarPolicy, MISSING};
pub use fault::CedarFault;
#[cfg(feature = "cedar")]
pub use policies::{CedarPolicies, CedarPolicy, MISSING};
pub(super) use verdict::{Asked, Verdict};

/// One file of policies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CedarFile {
    /// What reasons and errors call it, usually its path.
    pub name: String,
    /// Its text.
    pub text: Arc<str>,
}

impl CedarPolicies {
    /// Longest text of a file, in bytes.
    pub const FILE_BYTES_MAX: usize = 1 << 20;
    /// Longest text of a policy, in bytes.
    pub const POLICY_BYTES_MAX: usize = 64 << 10;
}
