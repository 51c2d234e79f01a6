//! Renaming that does not replace, also where the kernel cannot.

use rustix::fd::AsFd;
use rustix::fs::{AtFlags, RenameFlags, linkat, renameat, renameat_with, statat, unlinkat};
use rustix::io::Errno;

/// What becomes of a file that has the new name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Replace {
    /// It goes, at the same moment.
    Always,
    /// It stays, and the renaming fails with EEXIST.
    Never,
}

/// Lets two members of a directory take each other's names, in one step.
///
/// # Errors
/// EINVAL and others where the file system does not have it.
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
        // NFS and others do not have it. A second name is as atomic; directories cannot have one.
        Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => {
            match linkat(&from, old, &to, new, AtFlags::empty()) {
                Ok(()) => match unlinkat(&from, old, AtFlags::empty()) {
                    // Who else saw both names has removed the old one.
                    Err(Errno::NOENT) => Ok(()),
                    done => done,
                },
                // Neither of them, as on some FUSE and SMB mounts. Other requests of this process do not come in between:
                // who uploads, moves, copies or makes a directory there waits for its turn. Other processes can.
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
