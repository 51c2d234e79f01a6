use crate::outcome::Outcome;
use crate::path::DavPath;
use crate::xml::Condition;

/// Why LOCK or UNLOCK failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LockError {
    /// There are locks that exclude this one (RFC 4918 section 9.10.5): their roots, each once, and whether it is a
    /// collection.
    #[error("a lock excludes this one (RFC 4918 section 9.10.5)")]
    Conflict(Vec<(DavPath, bool)>),
    /// The table is full, or the root has as many as it may.
    #[error("no more locks can be kept")]
    TooMany,
    /// The principal has reached the limit of locks for one principal.
    #[error("the principal holds as many locks as one principal may")]
    TooManyOfPrincipal,
    /// A lock with this token is there already: the caller's random numbers are none.
    #[error("a lock with this token is there already")]
    TokenTaken,
    /// No lock with this token covers the resource (RFC 4918 section 9.11.1).
    #[error("no lock of this resource has this token (RFC 4918 section 9.11.1)")]
    NoSuchLock,
    /// It is somebody else's lock (RFC 4918 section 6.4).
    #[error("the lock belongs to somebody else (RFC 4918 section 6.4)")]
    NotOwner,
}

impl LockError {
    /// What the client gets. A refresh that finds no lock is `IfFailed` instead (RFC 4918 section 9.10.6).
    pub const fn outcome(&self) -> Outcome {
        match self {
            Self::Conflict(_) => Outcome::LockConflict,
            Self::TooMany => Outcome::TooManyLocks,
            Self::TooManyOfPrincipal => Outcome::TooManyOwnLocks,
            Self::TokenTaken => Outcome::Failed,
            Self::NoSuchLock => Outcome::WrongLockToken,
            Self::NotOwner => Outcome::Forbidden,
        }
    }

    /// The same for programs.
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
