use serde::{Deserialize, Serialize};

use crate::header::{Depth, LockToken};
use crate::path::DavPath;
use crate::xml::Fragment;

/// Whether others may hold a lock too (RFC 4918 section 6.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Scope {
    /// Nobody else.
    Exclusive,
    /// Others with shared locks.
    Shared,
}

/// A write lock.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lock {
    /// What the holder shows (RFC 4918 section 6.5).
    pub token: LockToken,
    /// The resource that was locked (RFC 4918 section 14.12).
    pub root: DavPath,
    /// The root is a collection: its href ends in a slash.
    pub collection: bool,
    /// Exclusive or shared.
    pub scope: Scope,
    /// Depth infinity: everything below the root is locked with it (RFC 4918 section 6.1).
    pub infinite: bool,
    /// What the client said about its user (RFC 4918 section 14.17).
    pub owner: Option<Fragment>,
    /// Who made it. Its token counts only in requests of the same principal (RFC 4918 section 6.4).
    pub principal: Box<str>,
    /// When it ends by itself (RFC 4918 section 6.6).
    pub expires_s: u64,
}

impl Lock {
    /// Whether it protects this resource: its root, or what is below if it is infinite.
    pub fn covers(&self, path: &DavPath) -> bool {
        self.root == *path || self.infinite && path.is_below(&self.root)
    }

    /// Whether it has not ended.
    pub const fn is_live(&self, now_s: u64) -> bool {
        now_s < self.expires_s
    }

    /// Seconds until it ends.
    pub fn left_s(&self, now_s: u64) -> u32 {
        u32::try_from(self.expires_s.saturating_sub(now_s)).unwrap_or(u32::MAX)
    }

    /// 0 or infinity.
    pub const fn depth(&self) -> Depth {
        if self.infinite { Depth::Infinity } else { Depth::Zero }
    }

    /// Whether both may be there, for the same resource.
    pub(super) fn agrees_with(&self, other: &Self) -> bool {
        self.scope == Scope::Shared && other.scope == Scope::Shared
    }
}
