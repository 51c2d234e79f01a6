use super::{DAV, escape};

/// Why something failed, for programs (RFC 4918 section 16): what stands in `DAV:error`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Condition {
    /// 423: these resources are locked, and no token of theirs was submitted. Hrefs.
    LockTokenSubmitted(Vec<String>),
    /// 423: the locks on these resources exclude the one that is asked for. Hrefs.
    NoConflictingLock(Vec<String>),
    /// 409: UNLOCK with the token of another resource's lock.
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
    /// A body of its own, for answers that are no 207.
    pub fn document(&self) -> String {
        let mut out = format!("{}<D:error xmlns:D=\"{DAV}\">", super::multistatus::DECLARATION);
        self.append_inner(&mut out);
        out.push_str("</D:error>\n");
        out
    }

    /// `DAV:error` in a 207.
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
