//! Cedar policies of a storage area: parsed and validated once, asked for each request.
//!
//! What they can say is Weir's own schema's business (`policies/schema.cedarschema`): a policy that names an attribute, an action or a
//! type that there is not is an error, and so is one for a path that can never be asked for. What cannot be evaluated fails closed: a
//! `permit` permits nothing, a `forbid` forbids.
//!
//! Files are the caller's to read.

mod fault;
mod policies;
mod verdict;

use std::sync::Arc;

pub use fault::CedarFault;
pub use policies::{CedarPolicies, CedarPolicy};
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
