use rustix::fd::AsFd;
use rustix::fs::{Mode, Timespec, Timestamps, UTIME_OMIT, futimens};

use crate::permissions::{PRIVATE, Permissions};
use crate::{Metadata, StorageError};

/// What a copy is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// The source stays, and the copy belongs to who has made it: as with cp(1), the source's bits and list are the most that it has,
    /// and its own directory says who is in its group, or may do more.
    Copy,
    /// The source goes: as with mv(1), its owner, permissions and times go along.
    Move,
}

impl Purpose {
    /// What the copy is created with.
    pub(crate) fn creation_mode(self, source: &Permissions) -> Mode {
        match self {
            Self::Copy => source.creation_mode(),
            Self::Move if source.is_directory() => Mode::RWXU,
            Self::Move => PRIVATE,
        }
    }

    /// Gives the copy the source's permissions, when nothing else is to be done with it that would need more.
    pub(crate) fn give_permissions(self, source: &Permissions, copy: impl AsFd) -> Result<(), StorageError> {
        match self {
            Self::Copy => source.limit(copy),
            Self::Move => source.give(copy),
        }
    }

    /// Gives the copy the source's time, when its content is complete.
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
        // Where files belong to whoever has mounted them, it cannot be set; nothing depends on it.
        let _ = futimens(copy, &times);
    }
}
