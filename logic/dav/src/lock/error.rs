//! Errors of LOCK and UNLOCK.

use crate::outcome::Outcome;
use crate::path::DavPath;

/// The reason why LOCK or UNLOCK failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LockError {
    /// Existing locks exclude this one (RFC 4918 section 9.10.5). Holds each root once, with true if it is a
    /// collection.
    #[error("a lock excludes this one (RFC 4918 section 9.10.5)")]
    Conflict(Vec<(DavPath, bool)>),
    /// The table is full, or the root has its maximum of locks.
    #[error("no more locks can be kept")]
    TooMany,
    /// The principal has reached the limit of locks for one principal.
    #[error("the principal holds as many locks as one principal may")]
    TooManyOfPrincipal,
    /// A lock with this token exists: the caller's random numbers repeat.
    #[error("a lock with this token is there already")]
    TokenTaken,
    /// No lock with this token covers the resource (RFC 4918 section 9.11.1).
    #[error("no lock of this resource has this token (RFC 4918 section 9.11.1)")]
    NoSuchLock,
    /// The lock belongs to another principal (RFC 4918 section 6.4).
    #[error("the lock belongs to somebody else (RFC 4918 section 6.4)")]
    NotOwner,
}

impl LockError {
    /// Returns the outcome for the client. A refresh that finds no lock gets `IfFailed` instead (RFC 4918
    /// section 9.10.6).
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
}
