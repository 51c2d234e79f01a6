//! The target of a request: its path in URLs, its path in the tree, and its path for access rules.

use weir_access::AccessPath;
use weir_dav::outcome::Outcome;
use weir_dav::path::{DavPath, PathLimits};

use crate::area::Area;
use crate::area::access_point::{access_path, outcome_of};

/// A resource of an area, which may not exist yet.
#[derive(Debug, Clone)]
pub(crate) struct Place {
    /// Path from the root of the server, as in URLs.
    pub(crate) full: DavPath,
    /// Path from the root of the area's tree.
    pub(crate) path: DavPath,
    /// Set when the path ended with a slash.
    pub(crate) trailing_slash: bool,
}

impl Place {
    /// Returns the place for the path of a request.
    pub(crate) fn of(area: &Area, written: &[u8]) -> Result<Self, Outcome> {
        let read = DavPath::parse(written, &PathLimits::default()).map_err(outcome_of)?;
        Self::at(area, read.path, read.trailing_slash)
    }

    /// Returns the place for a path of the server.
    pub(crate) fn at(area: &Area, full: DavPath, trailing_slash: bool) -> Result<Self, Outcome> {
        let below = area.points.iter().find_map(|point| full.strip_prefix(&point.path));
        let path = below.ok_or(Outcome::NotFound)?;
        Ok(Self { full, path, trailing_slash })
    }

    /// Returns the member `name` of this collection.
    pub(crate) fn member(&self, name: &[u8]) -> Result<Self, Outcome> {
        let full = self.full.join(name).map_err(outcome_of)?;
        let path = self.path.join(name).map_err(outcome_of)?;
        Ok(Self { full, path, trailing_slash: false })
    }

    /// Returns the resource `name` in the same collection as this one.
    pub(crate) fn sibling(&self, name: &[u8]) -> Result<Self, Outcome> {
        let full = self.full.parent().unwrap_or_default().join(name).map_err(outcome_of)?;
        let path = self.path.parent().unwrap_or_default().join(name).map_err(outcome_of)?;
        Ok(Self { full, path, trailing_slash: false })
    }

    /// Returns the URL path of the area's root.
    pub(crate) fn prefix(&self) -> DavPath {
        match self.path.depth() {
            0 => self.full.clone(),
            depth => self.full.ancestors().nth(depth - 1).unwrap_or_default(),
        }
    }

    /// Returns the path that access rules are applied to.
    pub(crate) fn access_path(&self) -> Result<AccessPath, Outcome> {
        access_path(&self.full, self.trailing_slash)
    }
}
