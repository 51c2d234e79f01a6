use rustix::io::Errno;
use weir_dav::digest::Algorithm;
use weir_dav::outcome::Outcome;

/// Why something could not be done with a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum StorageError {
    /// Nothing is there.
    #[error("there is nothing")]
    NotFound,
    /// The directory that it would be in is not there.
    #[error("its directory does not exist")]
    ParentMissing,
    /// Something is there already.
    #[error("something is there already")]
    Exists,
    /// A directory is where a file is meant.
    #[error("it is a directory")]
    IsDirectory,
    /// A file is where a directory is meant.
    #[error("it is not a directory")]
    NotDirectory,
    /// The directory is not empty.
    #[error("the directory is not empty")]
    NotEmpty,
    /// A file system is mounted on it or below it.
    #[error("a file system is mounted on it or below it")]
    Mounted,
    /// The operating system or the policy about symbolic links forbids it, the file system is mounted read-only, it is
    /// neither file nor directory, or the name is one of Weir's own.
    #[error("not permitted")]
    Refused,
    /// A name, or the whole path, is longer than the file system takes.
    #[error("the name is too long")]
    NameTooLong,
    /// The disk is full.
    #[error("the disk is full")]
    Full,
    /// A quota is used up.
    #[error("the quota is used up")]
    OverQuota,
    /// The file would be larger than the file system takes.
    #[error("the file is too large for the file system")]
    TooLarge,
    /// Not without waiting for the disk: ask again on a thread of [`crate::Disk`].
    #[error("it is not in the cache")]
    WouldBlock,
    /// All threads of [`crate::Disk`] are busy, and its queue is full.
    #[error("the disk is busy")]
    Busy,
    /// What came has another digest than was said.
    #[error("the content does not have the {0} digest that was given")]
    Digest(Algorithm),
    /// What came has another length than was said.
    #[error("the content does not have the length that was given")]
    Length,
    /// A part of a file would begin behind its end, or before its beginning.
    #[error("the part does not begin within the file")]
    Gap,
    /// The file is no longer what the caller saw.
    #[error("it was changed in the meantime")]
    Changed,
    /// What Weir keeps beside the files cannot be read.
    #[error("{0} cannot be read: it is damaged")]
    Damaged(&'static str),
    /// It was given up: the client is gone, or a thread was lost.
    #[error("given up")]
    Cancelled,
    /// Another error of the operating system.
    #[error("{0}: {1}")]
    Io(&'static str, Errno),
}

impl StorageError {
    /// Makes an error of what the system call `call` said.
    pub(crate) fn from_errno(call: &'static str) -> impl Fn(Errno) -> Self {
        move |errno| match errno {
            Errno::NOENT => Self::NotFound,
            // A file stands where the path needs a directory: what is asked for cannot be there.
            Errno::NOTDIR => Self::NotFound,
            Errno::EXIST => Self::Exists,
            Errno::ISDIR => Self::IsDirectory,
            Errno::NOTEMPTY => Self::NotEmpty,
            // EXDEV of openat2 is a path that leaves the root; that of rename is dealt with where it comes up.
            Errno::ACCESS | Errno::PERM | Errno::ROFS | Errno::LOOP | Errno::XDEV | Errno::NXIO => {
                Self::Refused
            }
            // Only mount points are too busy to be renamed or removed.
            Errno::BUSY => Self::Mounted,
            Errno::NAMETOOLONG => Self::NameTooLong,
            Errno::NOSPC => Self::Full,
            Errno::DQUOT => Self::OverQuota,
            Errno::FBIG => Self::TooLarge,
            errno => Self::Io(call, errno),
        }
    }

    /// For the directory that something would be in: that it is missing is another thing than that its member is.
    pub(crate) fn of_parent(self) -> Self {
        if self == Self::NotFound { Self::ParentMissing } else { self }
    }

    /// For what is moved, copied or removed: without its directory, it is not there either.
    pub(crate) fn of_source(self) -> Self {
        if self == Self::ParentMissing { Self::NotFound } else { self }
    }

    /// What a client gets.
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
