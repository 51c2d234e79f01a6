//! Renaming without replacement, also on file systems that do not support it.

use rustix::fd::AsFd;
use rustix::fs::{AtFlags, RenameFlags, linkat, renameat, renameat_with, statat, unlinkat};
use rustix::io::Errno;

/// Fate of an existing file with the new name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Replace {
    /// It is replaced in the same step.
    Always,
    /// It stays, and the renaming fails with EEXIST.
    Never,
}

/// Exchanges the names of two members of a directory in one step.
///
/// # Errors
/// EINVAL or another error if the file system does not support it.
pub(crate) fn exchange(directory: impl AsFd, one: &[u8], other: &[u8]) -> Result<(), Errno> {
    renameat_with(&directory, one, &directory, other, RenameFlags::EXCHANGE)
}

pub(crate) fn rename(
    from: impl AsFd,
    old: &[u8],
    to: impl AsFd,
    new: &[u8],
    replace: Replace,
) -> Result<(), Errno> {
    if replace == Replace::Always {
        return renameat(from, old, to, new);
    }
    match renameat_with(&from, old, &to, new, RenameFlags::NOREPLACE) {
        // NFS and others do not support the flag. A hard link is as atomic; a directory cannot have one.
        Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => {
            match linkat(&from, old, &to, new, AtFlags::empty()) {
                Ok(()) => match unlinkat(&from, old, AtFlags::empty()) {
                    // Another process saw both names and removed the old one.
                    Err(Errno::NOENT) => Ok(()),
                    done => done,
                },
                // Some FUSE and SMB mounts support neither. Other changes of this name by this process wait
                // for their turn (see [`crate::turn`]). Other processes can still come in between.
                Err(Errno::PERM | Errno::OPNOTSUPP | Errno::MLINK | Errno::NOSYS) => {
                    match statat(&to, new, AtFlags::SYMLINK_NOFOLLOW) {
                        Ok(_) => Err(Errno::EXIST),
                        Err(Errno::NOENT) => renameat(from, old, to, new),
                        Err(errno) => Err(errno),
                    }
                }
                Err(errno) => Err(errno),
            }
        }
        done => done,
    }
}
