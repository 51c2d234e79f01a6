//! Precondition and postcondition codes in `DAV:error`.

use crate::lock::LockError;
use crate::markup::{DAV, escape};

/// A precondition or postcondition code for `DAV:error` (RFC 4918 section 16).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Condition {
    /// 423: these resources (hrefs) are locked, and the request submitted none of their tokens.
    LockTokenSubmitted(Vec<String>),
    /// 423: the locks on these resources (hrefs) exclude the requested lock.
    NoConflictingLock(Vec<String>),
    /// 409: UNLOCK with the token of a lock of another resource.
    LockTokenMatchesRequestUri,
    /// 403: PROPFIND with Depth infinity.
    PropfindFiniteDepth,
    /// 403: PROPPATCH of a protected property.
    CannotModifyProtectedProperty,
    /// 507: over a quota (RFC 4331 section 6).
    QuotaNotExceeded,
    /// 507: the disk is full (RFC 4331 section 6).
    SufficientDiskSpace,
}

impl Condition {
    /// Returns a complete document, for responses other than 207.
    pub fn document(&self) -> String {
        let mut out = format!("{}<D:error xmlns:D=\"{DAV}\">", super::multistatus::DECLARATION);
        self.append_inner(&mut out);
        out.push_str("</D:error>\n");
        out
    }

    /// Appends a `DAV:error` element of a 207 response.
    pub(super) fn append(&self, out: &mut String) {
        out.push_str("<D:error>");
        self.append_inner(out);
        out.push_str("</D:error>");
    }

    fn append_inner(&self, out: &mut String) {
        let (name, hrefs) = match self {
            Self::LockTokenSubmitted(hrefs) => ("lock-token-submitted", hrefs.as_slice()),
            Self::NoConflictingLock(hrefs) => ("no-conflicting-lock", hrefs.as_slice()),
            Self::LockTokenMatchesRequestUri => ("lock-token-matches-request-uri", &[][..]),
            Self::PropfindFiniteDepth => ("propfind-finite-depth", &[][..]),
            Self::CannotModifyProtectedProperty => ("cannot-modify-protected-property", &[][..]),
            Self::QuotaNotExceeded => ("quota-not-exceeded", &[][..]),
            Self::SufficientDiskSpace => ("sufficient-disk-space", &[][..]),
        };
        if hrefs.is_empty() {
            out.push_str(&format!("<D:{name}/>"));
            return;
        }
        out.push_str(&format!("<D:{name}>"));
        for href in hrefs {
            out.push_str("<D:href>");
            escape::text(out, href);
            out.push_str("</D:href>");
        }
        out.push_str(&format!("</D:{name}>"));
    }
}

impl LockError {
    /// Returns the precondition code (RFC 4918 section 16), which clients can evaluate.
    pub fn condition(&self) -> Option<Condition> {
        match self {
            Self::Conflict(roots) => {
                let hrefs = roots.iter().map(|(root, collection)| root.href(*collection));
                Some(Condition::NoConflictingLock(hrefs.collect()))
            }
            Self::NoSuchLock => Some(Condition::LockTokenMatchesRequestUri),
            Self::TooMany | Self::TooManyOfPrincipal | Self::TokenTaken | Self::NotOwner => None,
        }
    }
}
