//! The rules of a storage area: decide whether an identity may perform an action below it, and why.
//!
//! The steps, in this order:
//!
//! 1. A path outside the area's access points is denied.
//! 2. Policies, if they are on, are checked in their order. The first policy whose principals, actions and
//!    paths all match decides. **A deny is final**; no other rule overrides it. A deny for something below a
//!    directory also denies deleting or renaming the directory.
//! 3. A token with storage scopes is always **limited to them**. If the area honours scopes (`token-scopes`)
//!    and lists the issuer, a matching scope allows. Permits, switches and the token's groups then add
//!    nothing. If the area does not honour scopes, steps 2 and 4 must allow *and* a scope must match.
//! 4. Otherwise a permit of step 2 allows. If no policy matched, the area's switches (`anonymous-read`,
//!    `vos`, ...) may allow.
//! 5. Otherwise the action is denied.
//!
//! Cedar policies, if the area has any, belong to step 2. They are not evaluated after a deny by an ordered
//! policy. A `forbid` denies if it applies or cannot be evaluated. A `permit` counts like a permit of step 2.
//! Cedar policies have no order, and no `permit` overrides a `forbid`.
//!
//! One of Weir's own tokens has the rights of its holder, by the same steps, but only within the token's
//! scopes. A rename deletes at the source and creates at the destination; both must be allowed.

mod area;
mod below;
pub mod cedar;
mod circumstances;
mod decide;
mod dn_match;
mod glob;
mod policy;
mod principal;
mod reason;
mod spec;
mod switches;

pub use area::{AreaRules, RuleError};
pub use circumstances::Circumstances;
pub use decide::{Request, decide};
pub use glob::{GlobError, PathGlob};
pub use policy::{Effect, Policy, PolicyAction};
pub use principal::Principal;
pub use reason::{Cause, Decision, Reason};
pub use spec::{AreaSpec, PolicySpec};
pub use switches::{Grant, Switches};
