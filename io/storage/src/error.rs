//! Errors of file operations.

use rustix::io::Errno;
use weir_dav::digest::Algorithm;
use weir_dav::outcome::Outcome;

/// Error of a file operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum StorageError {
    /// The path leads to nothing.
    #[error("there is nothing")]
    NotFound,
    /// The parent directory does not exist.
    #[error("its directory does not exist")]
    ParentMissing,
    /// The path is in use already.
    #[error("something is there already")]
    Exists,
    /// The path leads to a directory instead of a file.
    #[error("it is a directory")]
    IsDirectory,
    /// The path leads to a file instead of a directory.
    #[error("it is not a directory")]
    NotDirectory,
    /// The directory is not empty.
    #[error("the directory is not empty")]
    NotEmpty,
    /// A file system is mounted at the path or below it.
    #[error("a file system is mounted on it or below it")]
    Mounted,
    /// The operating system or the policy for symbolic links forbids it. Also: the file system is mounted
    /// read-only, the path leads to neither a file nor a directory, or the name is reserved.
    #[error("not permitted")]
    Refused,
    /// A name, or the whole path, is longer than the file system supports.
    #[error("the name is too long")]
    NameTooLong,
    /// The disk is full.
    #[error("the disk is full")]
    Full,
    /// A quota is exhausted.
    #[error("the quota is used up")]
    OverQuota,
    /// The file would be larger than the file system supports.
    #[error("the file is too large for the file system")]
    TooLarge,
    /// The call would wait for the disk: repeat it on a thread of [`crate::Disk`].
    #[error("it is not in the cache")]
    WouldBlock,
    /// All threads of [`crate::Disk`] are busy, and its queue is full.
    #[error("the disk is busy")]
    Busy,
    /// The received content does not have the given digest.
    #[error("the content does not have the {0} digest that was given")]
    Digest(Algorithm),
    /// The received content does not have the given length.
    #[error("the content does not have the length that was given")]
    Length,
    /// A part of a file would begin outside the file.
    #[error("the part does not begin within the file")]
    Gap,
    /// The file is no longer the one that the caller saw.
    #[error("it was changed in the meantime")]
    Changed,
    /// Data that Weir keeps about files is damaged.
    #[error("{0} cannot be read: it is damaged")]
    Damaged(&'static str),
    /// The work was given up: the client is gone, or a thread was lost.
    #[error("given up")]
    Cancelled,
    /// Another error of the operating system.
    #[error("{0}: {1}")]
    Io(&'static str, Errno),
}

impl StorageError {
    /// Returns a function that converts an error of the system call `call`.
    pub(crate) fn from_errno(call: &'static str) -> impl Fn(Errno) -> Self {
        move |errno| match errno {
            Errno::NOENT => Self::NotFound,
            // A path component is a file, so nothing can be at the path.
            Errno::NOTDIR => Self::NotFound,
            Errno::EXIST => Self::Exists,
            Errno::ISDIR => Self::IsDirectory,
            Errno::NOTEMPTY => Self::NotEmpty,
            // EXDEV from openat2 means that the path leaves the root. The callers of rename handle its EXDEV
            // themselves.
            Errno::ACCESS | Errno::PERM | Errno::ROFS | Errno::LOOP | Errno::XDEV | Errno::NXIO => {
                Self::Refused
            }
            // Renaming or removing fails with EBUSY only for mount points.
            Errno::BUSY => Self::Mounted,
            Errno::NAMETOOLONG => Self::NameTooLong,
            Errno::NOSPC => Self::Full,
            Errno::DQUOT => Self::OverQuota,
            Errno::FBIG => Self::TooLarge,
            errno => Self::Io(call, errno),
        }
    }

    /// Converts the error of looking up a parent directory, because a missing parent is another error than a
    /// missing member.
    pub(crate) fn of_parent(self) -> Self {
        if self == Self::NotFound { Self::ParentMissing } else { self }
    }

    /// Converts the error for a source of a move, copy or removal: without its parent, the source does not
    /// exist.
    pub(crate) fn of_source(self) -> Self {
        if self == Self::ParentMissing { Self::NotFound } else { self }
    }

    /// Returns the outcome for the client.
    pub const fn outcome(self) -> Outcome {
        match self {
            Self::NotFound => Outcome::NotFound,
            Self::ParentMissing => Outcome::ParentMissing,
            Self::Exists => Outcome::Exists,
            Self::IsDirectory => Outcome::PutOnCollection,
            Self::NotDirectory => Outcome::NotAllowed,
            Self::NotEmpty => Outcome::NotEmpty,
            Self::Mounted => Outcome::HoldsMountPoint,
            Self::Refused => Outcome::Forbidden,
            Self::NameTooLong => Outcome::PathTooLong,
            Self::Full | Self::OverQuota => Outcome::InsufficientStorage,
            Self::TooLarge => Outcome::BodyTooLarge,
            Self::Digest(_) => Outcome::DigestMismatch,
            Self::Length => Outcome::BadHeader,
            Self::Gap => Outcome::BadContentRange,
            Self::Changed => Outcome::PreconditionFailed,
            Self::WouldBlock | Self::Busy | Self::Cancelled => Outcome::Unavailable,
            Self::Damaged(_) | Self::Io(..) => Outcome::Failed,
        }
    }
}
