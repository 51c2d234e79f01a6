//! Files that the balancer sends in place of a pool's servers.

use std::path::PathBuf;

use serde::Serialize;
use weir_model::Name;

use crate::storage::plan::Symlinks;

/// What the servers of a pool may have sent in place of a body (`[pool.NAME.offload]`).
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct OffloadPlan {
    /// At least one, prefixes unique.
    pub locations: Vec<LocationPlan>,
    /// X-Sendfile counts as well.
    pub x_sendfile: bool,
    /// Servers are asked about a PUT, and its body is stored from here.
    pub uploads: bool,
}

/// Files that servers may name (`[[pool.NAME.offload.location]]`).
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LocationPlan {
    /// What their URIs begin with, written plainly.
    pub prefix: String,
    /// Where they are.
    pub files: LocationFiles,
    /// URIs are percent-encoded.
    pub percent_encoded: bool,
}

/// Where the files of a location are.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum LocationFiles {
    /// In this storage area, which exists.
    Area(Name),
    /// In this directory.
    Root {
        /// The directory; absolute.
        root: PathBuf,
        /// Which symbolic links are followed.
        symlinks: Symlinks,
    },
}
