//! Differences between a copy and the copy that a move makes.

use rustix::fd::AsFd;
use rustix::fs::{Mode, Timespec, Timestamps, UTIME_OMIT, futimens};

use crate::permissions::{PRIVATE, Permissions};
use crate::{Metadata, StorageError};

/// Purpose of a copy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// The source stays, and the copy belongs to its creator, as with cp(1). It has no more permissions than
    /// the source. Its own directory determines its group and may restrict it further.
    Copy,
    /// The source is removed. Its owner, permissions and times move along, as with mv(1).
    Move,
}

impl Purpose {
    /// Returns the mode with which the copy is created.
    pub(crate) fn creation_mode(self, source: &Permissions) -> Mode {
        match self {
            Self::Copy => source.creation_mode(),
            Self::Move if source.is_directory() => Mode::RWXU,
            Self::Move => PRIVATE,
        }
    }

    /// Gives the copy the source's permissions. Comes last, because other steps may need more permissions.
    pub(crate) fn give_permissions(self, source: &Permissions, copy: impl AsFd) -> Result<(), StorageError> {
        match self {
            Self::Copy => source.limit(copy),
            Self::Move => source.give(copy),
        }
    }

    /// Gives the copy the source's modification time. Comes after the content is complete.
    pub(crate) fn give_time(self, source: &Metadata, copy: impl AsFd) {
        if self == Self::Copy {
            return;
        }
        let modified =
            Timespec { tv_sec: source.modified.seconds, tv_nsec: source.modified.nanoseconds.into() };
        let times = Timestamps {
            last_access: Timespec { tv_sec: 0, tv_nsec: UTIME_OMIT },
            last_modification: modified,
        };
        // On a file system whose files all belong to the user that mounted it, the time cannot be set. That
        // does no harm.
        let _ = futimens(copy, &times);
    }
}
