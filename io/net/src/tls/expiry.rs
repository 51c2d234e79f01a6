use std::path::PathBuf;

use super::certificate::CertificateSummary;
use super::error::FileRole;

/// When a file in use runs out. For metrics and warnings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Expiry {
    /// A certificate, or revocation lists, of which the first to go stale counts.
    pub role: FileRole,
    /// Where it is.
    pub path: PathBuf,
    /// Good until this second of the Unix epoch.
    pub not_after: i64,
    /// The names that a certificate is for.
    pub names: Vec<String>,
}

/// A certificate that runs out within this many days is warned of.
pub const EXPIRY_WARNING_DAYS: i64 = 14;

const DAY: i64 = 86_400;

impl Expiry {
    /// What an operator should know of it at `now`, in seconds of the Unix epoch.
    pub fn warning(&self, now: i64) -> Option<String> {
        let (role, path, left) = (self.role, self.path.display(), self.not_after - now);
        match role {
            FileRole::RevocationLists if left < 0 => {
                Some(format!("{role} {path}: stale for {}; every client certificate is refused", days(-left)))
            }
            // Lists are made for days, or hours: when the next is due, nobody but their authority can say.
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
    /// When it runs out.
    pub fn expiry(&self) -> Expiry {
        Expiry {
            role: FileRole::Certificate,
            path: self.path.clone(),
            not_after: self.not_after,
            names: self.names.clone(),
        }
    }

    /// What an operator should know of it at `now`, in seconds of the Unix epoch.
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
