//! Files that Weir sends instead of a pool's servers.

use std::path::PathBuf;

use serde::Serialize;
use weir_model::Name;

use crate::storage::plan::Symlinks;

/// Files that Weir sends instead of a response body (`[pool.NAME.offload]`).
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct OffloadPlan {
    /// Locations; at least one, with unique prefixes.
    pub locations: Vec<LocationPlan>,
    /// True if Weir also obeys the X-Sendfile header.
    pub x_sendfile: bool,
    /// True if Weir stores the body of a PUT, and asks the server before and after it.
    pub uploads: bool,
}

/// Files that servers may name (`[[pool.NAME.offload.location]]`).
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LocationPlan {
    /// Prefix of the URIs, not percent-encoded.
    pub prefix: String,
    /// Storage of the files.
    pub files: LocationFiles,
    /// True if the servers percent-encode URIs.
    pub percent_encoded: bool,
}

/// Storage of the files of a location.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum LocationFiles {
    /// The storage area of this name, which exists.
    Area(Name),
    /// A directory.
    Root {
        /// Absolute path of the directory.
        root: PathBuf,
        /// Symbolic links that Weir follows.
        symlinks: Symlinks,
    },
}
