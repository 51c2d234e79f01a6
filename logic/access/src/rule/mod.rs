//! The rules of a storage area: who may do what below it, and why.
//!
//! The order, precisely:
//!
//! 1. A path outside the area's access points is denied.
//! 2. Policies, if they are on, in their order: the first whose principals, actions and paths all fit wins. **A deny is a
//!    deny**; nothing outvotes it. A deny that protects something below a directory also denies to delete or rename the
//!    directory.
//! 3. A token with storage scopes is **limited to them**, always. Where the area honours scopes (`token-scopes`) and lists
//!    the issuer, a scope that fits allows, and neither a permit nor a switch adds to it; the token's groups do not count.
//!    Where the area does not, steps 2 and 4 must allow *and* a scope must fit.
//! 4. Otherwise a permit of step 2 allows, or else the area's switches (`anonymous-read`, `vos`, ...) may.
//! 5. Otherwise it is denied.
//!
//! Cedar policies, if the area has some, belong to step 2: after a deny there they are not asked. A `forbid` that applies denies, as
//! does one that cannot be evaluated. A `permit` is one as those of step 2 are. They have no order, and none outvotes a `forbid`.
//!
//! One of Weir's own tokens may do what its holder may, by the same steps, and only within its scopes.
//! A rename takes away here and creates there: both must be allowed.

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
