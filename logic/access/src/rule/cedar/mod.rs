//! Cedar policies of a storage area: parsed and validated once, evaluated for each request.
//!
//! Weir's own schema (`policies/schema.cedarschema`) defines the attributes, actions and types. A policy that
//! names any other one is an error. So is a policy for a path that no request can have. A policy that cannot
//! be evaluated fails closed: a `permit` permits nothing, a `forbid` forbids.
//!
//! A build without the feature `cedar` supports no policies and reports it: see [`MISSING`].
//!
//! The caller reads the files.

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
    /// Name of the file in reasons and errors, usually its path.
    pub name: String,
    /// Text of the file.
    pub text: Arc<str>,
}

impl CedarPolicies {
    /// Maximum size of a file, in bytes.
    pub const FILE_BYTES_MAX: usize = 1 << 20;
    /// Maximum length of a policy, in bytes.
    pub const POLICY_BYTES_MAX: usize = 64 << 10;
}
