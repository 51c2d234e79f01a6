//! Paths of requests, normalised: the form that rules compare, and the form that a server gets (RFC 3986 section 6.2.2).
//!
//! Several spellings of a path name one resource: `/%61dmin`, `//admin`, `/x/../admin`. A rule that compares spellings is
//! evaded by another one. So both forms come from one function, and a path that two readers may take for two different
//! ones is refused.
//!
//! - Structure (dot segments, repeated slashes) is resolved before a server gets the path: what it gets leaves nothing to
//!   resolve.
//! - Percent-encoding goes to the server as the client sent it, because signatures are made over it. Rules compare paths
//!   in one canonical encoding, so that the spelling does not count.
//!
//! The path is not case-folded and not decoded twice.

mod fault;
mod normal;
mod pattern;
mod plain;
mod rules;
mod target;

pub use fault::PathFault;
pub use normal::NormalPath;
pub(crate) use normal::canonical;
pub use pattern::{PatternFault, check_pattern};
pub(crate) use plain::is_plain;
pub use rules::{AboveRoot, Backslash, BadEscape, EncodedNul, EncodedSlash, PathParameters, PathRules};
pub use target::NormalTarget;
