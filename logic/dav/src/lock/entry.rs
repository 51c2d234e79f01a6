//! A write lock and its scope.

use serde::{Deserialize, Serialize};

use crate::header::{Depth, LockToken};
use crate::markup::Fragment;
use crate::path::DavPath;

/// Exclusive or shared (RFC 4918 section 6.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Scope {
    /// No other lock is allowed.
    Exclusive,
    /// Other shared locks are allowed.
    Shared,
}

/// A write lock.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lock {
    /// Token that the holder submits (RFC 4918 section 6.5).
    pub token: LockToken,
    /// The resource that was locked (RFC 4918 section 14.12).
    pub root: DavPath,
    /// True if the root is a collection; its href then ends in a slash.
    pub collection: bool,
    /// Exclusive or shared.
    pub scope: Scope,
    /// Set for depth infinity: the lock also covers everything below the root (RFC 4918 section 6.1).
    pub infinite: bool,
    /// Description of the owner, as the client sent it (RFC 4918 section 14.17).
    pub owner: Option<Fragment>,
    /// Principal that created the lock. The token counts only in requests of the same principal (RFC 4918
    /// section 6.4).
    pub principal: Box<str>,
    /// Time of expiry, in seconds (RFC 4918 section 6.6).
    pub expires_s: u64,
}

impl Lock {
    /// Returns true if the lock protects this resource: its root, or any resource below if the depth is
    /// infinity.
    pub fn covers(&self, path: &DavPath) -> bool {
        self.root == *path || self.infinite && path.is_below(&self.root)
    }

    /// Returns true until the lock expires.
    pub const fn is_live(&self, now_s: u64) -> bool {
        now_s < self.expires_s
    }

    /// Returns the seconds until expiry.
    pub fn left_s(&self, now_s: u64) -> u32 {
        u32::try_from(self.expires_s.saturating_sub(now_s)).unwrap_or(u32::MAX)
    }

    /// Returns the depth: 0 or infinity.
    pub const fn depth(&self) -> Depth {
        if self.infinite { Depth::Infinity } else { Depth::Zero }
    }

    /// Returns true if both locks may exist on the same resource.
    pub(super) fn agrees_with(&self, other: &Self) -> bool {
        self.scope == Scope::Shared && other.scope == Scope::Shared
    }
}
