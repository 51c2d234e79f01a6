//! What a request wants to do, in the words of the storage service.

use std::fmt;

use crate::AccessPath;

/// One thing that a request wants to do to one path. A request that needs several (a PUT to an existing file creates
/// nothing, a COPY reads here and creates there) asks for each.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Action {
    /// Bytes of a file: GET, the source of a COPY.
    Read,
    /// Metadata of one resource: HEAD, PROPFIND with depth 0, OPTIONS.
    Stat,
    /// Names in a directory: PROPFIND with depth 1, a directory's page.
    List,
    /// A new file: PUT, the destination of a COPY.
    Create,
    /// A new directory: MKCOL, and each missing parent of what is created.
    MakeDirectory,
    /// Other bytes or properties for what is there: PUT, PATCH, PROPPATCH.
    Overwrite,
    /// DELETE.
    Delete,
    /// MOVE to a path where nothing is. If something is there, [`Action::Overwrite`] is asked for as well.
    Rename {
        /// The new path.
        to: AccessPath,
    },
    /// A copy from tape to disk, its cancellation and release, a pin.
    Stage,
    /// Where a file's bytes are: disk, tape.
    Poll,
}

impl Action {
    /// Whether it changes nothing and costs no more than reading: what the switches for reading grant. Staging moves
    /// tapes, so it is not among them.
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
