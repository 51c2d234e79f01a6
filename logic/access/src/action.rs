//! Operations that a request wants to perform, in the terms of the storage service.

use std::fmt;

use crate::AccessPath;

/// One operation that a request wants to perform on one path. A request that needs several operations asks
/// for each of them. For example, COPY reads the source and creates the destination.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Action {
    /// Reading bytes of a file: GET, the source of a COPY.
    Read,
    /// Reading metadata of one resource: HEAD, PROPFIND with depth 0, OPTIONS.
    Stat,
    /// Listing the names in a directory: PROPFIND with depth 1, a directory's page.
    List,
    /// Creating a new file: PUT, the destination of a COPY.
    Create,
    /// Creating a new directory: MKCOL, and each missing parent of a new file.
    MakeDirectory,
    /// Replacing the bytes or properties of an existing resource: PUT, PATCH, PROPPATCH.
    Overwrite,
    /// Deleting a resource: DELETE.
    Delete,
    /// Moving a resource to a path where nothing exists: MOVE. If the destination exists, the request also
    /// asks for [`Action::Overwrite`].
    Rename {
        /// The new path.
        to: AccessPath,
    },
    /// Copying a file from tape to disk, cancelling or releasing such a copy, or pinning it.
    Stage,
    /// Querying whether a file's bytes are on disk or on tape.
    Poll,
}

impl Action {
    /// Returns true if the action changes nothing and costs no more than reading. The switches for reading
    /// grant exactly these actions. Staging is not one of them because it moves tapes.
    pub fn is_reading(&self) -> bool {
        matches!(self, Self::Read | Self::Stat | Self::List | Self::Poll)
    }
}

impl fmt::Display for Action {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Read => f.write_str("read"),
            Self::Stat => f.write_str("stat"),
            Self::List => f.write_str("list"),
            Self::Create => f.write_str("create"),
            Self::MakeDirectory => f.write_str("make directory"),
            Self::Overwrite => f.write_str("overwrite"),
            Self::Delete => f.write_str("delete"),
            Self::Rename { to } => write!(f, "rename to {to}"),
            Self::Stage => f.write_str("stage"),
            Self::Poll => f.write_str("poll"),
        }
    }
}
