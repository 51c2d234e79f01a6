//! What an area knows of its users: passwords, and who belongs to which organisation.

mod password_checks;
mod passwords;
mod vo_maps;

pub(crate) use password_checks::PasswordChecks;
pub(crate) use passwords::Passwords;
pub use vo_maps::check_vo_maps;
pub(crate) use vo_maps::read as read_vo_maps;

use weir_dav::outcome::Outcome;

use crate::refusal::Refusal;

/// Too many passwords wait for their check.
pub(crate) const TOO_MANY: Refusal = Refusal::Outcome(Outcome::Unavailable);
