//! Normalisation of request paths (RFC 3986 section 6.2.2): the form that rules compare, and the form for the
//! server.
//!
//! A resource has several spellings: `/%61dmin`, `//admin`, `/x/../admin`. If a rule compared one spelling, a
//! client could evade it with another. Therefore one function makes both forms, and a path that different
//! programs may interpret differently is refused.
//!
//! - The structure (dot segments, repeated slashes) is resolved before a server receives the path, so that
//!   the server has nothing left to resolve.
//! - The percent-encoding reaches the server as the client sent it, because signatures are computed over it.
//!   Rules compare paths in one canonical encoding, so that the spelling does not matter.
//!
//! Paths are not case-folded and not decoded twice.

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
