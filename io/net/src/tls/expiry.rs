//! Expiry of certificates and revocation lists.

use std::path::PathBuf;

use super::certificate::CertificateSummary;
use super::error::FileRole;

/// Expiry of a file in use, for metrics and warnings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Expiry {
    /// Certificate or revocation lists. For lists, the first to become stale counts.
    pub role: FileRole,
    /// Path of the file.
    pub path: PathBuf,
    /// End of validity, in seconds since 1970.
    pub not_after: i64,
    /// Names of the certificate.
    pub names: Vec<String>,
}

/// Number of days before expiry from which a certificate causes a warning.
pub const EXPIRY_WARNING_DAYS: i64 = 14;

const DAY: i64 = 86_400;

impl Expiry {
    /// Returns a warning for the operator at `now`, in seconds since 1970.
    pub fn warning(&self, now: i64) -> Option<String> {
        let (role, path, left) = (self.role, self.path.display(), self.not_after - now);
        match role {
            FileRole::RevocationLists if left < 0 => {
                Some(format!("{role} {path}: stale for {}; every client certificate is refused", days(-left)))
            }
            // Lists are valid for days or hours, and only their authority knows when the next is due.
            FileRole::RevocationLists => None,
            _ if left < 0 => Some(format!("{role} {path}: expired {} ago", days(-left))),
            _ if left < EXPIRY_WARNING_DAYS * DAY => {
                Some(format!("{role} {path}: expires in {}", days(left)))
            }
            _ => None,
        }
    }
}

impl CertificateSummary {
    /// Returns the expiry of the certificate.
    pub fn expiry(&self) -> Expiry {
        Expiry {
            role: FileRole::Certificate,
            path: self.path.clone(),
            not_after: self.not_after,
            names: self.names.clone(),
        }
    }

    /// Returns warnings for the operator at `now`, in seconds since 1970.
    pub fn warnings(&self, now: i64) -> Vec<String> {
        let path = self.path.display();
        let mut warnings = Vec::from_iter(self.expiry().warning(now));
        if self.not_before > now {
            warnings.push(format!(
                "certificate {path}: not valid before {} from now",
                days(self.not_before - now)
            ));
        }
        if !self.chain_in_order {
            warnings.push(format!(
                "certificate {path}: the chain is not in order, leaf first, each issued by the next"
            ));
        }
        if self.names.is_empty() {
            warnings.push(format!("certificate {path}: is for no name; clients that verify will refuse it"));
        }
        warnings
    }
}

fn days(seconds: i64) -> String {
    match seconds / DAY {
        1 => "1 day".to_owned(),
        days => format!("{days} days"),
    }
}
