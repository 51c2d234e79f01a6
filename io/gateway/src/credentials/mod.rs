//! User data of an area: passwords, and members of virtual organisations.

mod password_checks;
mod passwords;
mod vo_maps;

pub(crate) use password_checks::PasswordChecks;
pub(crate) use passwords::Passwords;
pub use vo_maps::check_vo_maps;
pub(crate) use vo_maps::read as read_vo_maps;

use weir_dav::outcome::Outcome;

use crate::refusal::Refusal;

/// Refusal for a request when too many passwords wait to be checked.
pub(crate) const TOO_MANY: Refusal = Refusal::Outcome(Outcome::Unavailable);
