//! Where a request leads: the path as the client wrote it, as the tree has it, and as access is judged by it.

use weir_access::AccessPath;
use weir_dav::outcome::Outcome;
use weir_dav::path::{DavPath, PathLimits};

use crate::area::Area;
use crate::area::access_point::{access_path, outcome_of};

/// A resource of an area.
#[derive(Debug, Clone)]
pub(crate) struct Place {
    /// From the root of the server, as URLs have it.
    pub(crate) full: DavPath,
    /// From the root of the tree.
    pub(crate) path: DavPath,
    /// It was written with a slash at its end.
    pub(crate) trailing_slash: bool,
}

impl Place {
    /// The place that a path in a request stands for.
    pub(crate) fn of(area: &Area, written: &[u8]) -> Result<Self, Outcome> {
        let read = DavPath::parse(written, &PathLimits::default()).map_err(outcome_of)?;
        Self::at(area, read.path, read.trailing_slash)
    }

    /// The place at a path of the server.
    pub(crate) fn at(area: &Area, full: DavPath, trailing_slash: bool) -> Result<Self, Outcome> {
        let below = area.points.iter().find_map(|point| full.strip_prefix(&point.path));
        let path = below.ok_or(Outcome::NotFound)?;
        Ok(Self { full, path, trailing_slash })
    }

    /// A member of this collection.
    pub(crate) fn member(&self, name: &[u8]) -> Result<Self, Outcome> {
        let full = self.full.join(name).map_err(outcome_of)?;
        let path = self.path.join(name).map_err(outcome_of)?;
        Ok(Self { full, path, trailing_slash: false })
    }

    /// What has this name in the same collection.
    pub(crate) fn sibling(&self, name: &[u8]) -> Result<Self, Outcome> {
        let full = self.full.parent().unwrap_or_default().join(name).map_err(outcome_of)?;
        let path = self.path.parent().unwrap_or_default().join(name).map_err(outcome_of)?;
        Ok(Self { full, path, trailing_slash: false })
    }

    /// Where the tree begins in URLs, seen from this place.
    pub(crate) fn prefix(&self) -> DavPath {
        match self.path.depth() {
            0 => self.full.clone(),
            depth => self.full.ancestors().nth(depth - 1).unwrap_or_default(),
        }
    }

    /// What access is judged by.
    pub(crate) fn access_path(&self) -> Result<AccessPath, Outcome> {
        access_path(&self.full, self.trailing_slash)
    }
}
