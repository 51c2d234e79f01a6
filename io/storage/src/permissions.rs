//! Who may do what with a file or directory, by what its file system says: permission bits, owner and group, POSIX ACL. What
//! takes the place of something, or is a copy of it, lets nobody in whom that kept out.

use rustix::fd::{AsFd, AsRawFd, BorrowedFd};
use rustix::fs::{Gid, Mode, Uid, XattrFlags, fchmod, fchown, fremovexattr, fsetxattr, getxattr};
use rustix::io::Errno;

use crate::StorageError;
use crate::metadata::Found;

/// The extended attributes that POSIX ACLs are kept in (acl(5)); the second is what members of a directory inherit.
const ACCESS: &str = "system.posix_acl_access";
const INHERITED: &str = "system.posix_acl_default";

/// Longest value of an extended attribute in Linux.
const ACL_BYTES_MAX: usize = 1 << 16;

/// For its owner only.
pub(crate) const PRIVATE: Mode = Mode::RUSR.union(Mode::WUSR);

/// Of owner, group and others.
const BITS: u16 = 0o777;
/// What directories have besides: members get their group, only owners remove.
const DIRECTORY_BITS: u16 = 0o3000;

/// Those of one file or directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Permissions {
    mode: u16,
    owner: u32,
    group: u32,
    directory: bool,
    access: Option<Vec<u8>>,
    inherited: Option<Vec<u8>>,
}

impl Permissions {
    /// Of something that is open, be it only as a path.
    pub(crate) fn of(fd: impl AsFd) -> Result<Self, StorageError> {
        let fd = fd.as_fd();
        let found = Found::of(fd)?;
        let directory = found.is_directory();
        let bits = if directory { BITS | DIRECTORY_BITS } else { BITS };
        Ok(Self {
            mode: found.mode() & bits,
            owner: found.owner(),
            group: found.group(),
            directory,
            access: attribute(fd, ACCESS)?,
            inherited: if directory { attribute(fd, INHERITED)? } else { None },
        })
    }

    /// What a copy is created with, before the process's umask or what its directory lets it inherit: as much as this has, and
    /// what its maker needs to fill it.
    pub(crate) fn creation_mode(&self) -> Mode {
        let fill = if self.directory { Mode::RWXU } else { PRIVATE };
        Mode::from_raw_mode((self.mode & BITS).into()) | fill
    }

    pub(crate) fn is_directory(&self) -> bool {
        self.directory
    }

    /// Gives a copy, which was created with [`Self::creation_mode`] and belongs to who has made it, no more than this has.
    pub(crate) fn limit(&self, copy: impl AsFd) -> Result<(), StorageError> {
        let copy = copy.as_fd();
        let now = Found::of(copy)?.mode();
        if self.access.is_some() {
            return self.set_access(copy, self.mode & BITS | now & DIRECTORY_BITS);
        }
        match now & BITS & !self.mode {
            0 => Ok(()),
            _ => set_mode(copy, now & (self.mode | DIRECTORY_BITS)),
        }
    }

    /// Gives what takes the place of this the same, owner and group included as far as the process may give something away.
    pub(crate) fn give(&self, to: impl AsFd) -> Result<(), StorageError> {
        let to = to.as_fd();
        let now = Found::of(to)?;
        let group = Some(Gid::from_raw(self.group));
        let has_group = (now.owner(), now.group()) == (self.owner, self.group)
            || fchown(to, Some(Uid::from_raw(self.owner)), group).is_ok()
            || now.group() == self.group
            || fchown(to, None, group).is_ok();
        if let Some(acl) = &self.inherited {
            // Where there are none, members have the permissions that they are made with.
            is_supported(fsetxattr(to, INHERITED, acl, XattrFlags::empty()))?;
        }
        if has_group {
            return self.set_access(to, self.mode);
        }
        // What this one's group may is not another group's.
        let access = self.access.clone().map(acl::with_group_as_others);
        Self { access, ..self.clone() }.set_access(to, with_group_as_others(self.mode))
    }

    fn set_access(&self, to: BorrowedFd<'_>, mode: u16) -> Result<(), StorageError> {
        match &self.access {
            Some(acl) if is_supported(fsetxattr(to, ACCESS, acl, XattrFlags::empty()))? => set_mode(to, mode),
            // The group's bits were what anybody in the list could have at most.
            Some(_) => set_mode(to, with_group_as_others(mode)),
            None => {
                // What it inherited from its directory is not this one's.
                match fremovexattr(to, ACCESS) {
                    Err(Errno::NODATA) => {}
                    removed => {
                        is_supported(removed)?;
                    }
                }
                set_mode(to, mode)
            }
        }
    }
}

/// Takes everybody's permissions but the owner's from a file.
pub(crate) fn withdraw(file: impl AsFd) -> Result<(), StorageError> {
    fchmod(file, PRIVATE).map_err(StorageError::from_errno("fchmod"))
}

fn set_mode(fd: BorrowedFd<'_>, mode: u16) -> Result<(), StorageError> {
    fchmod(fd, Mode::from_raw_mode(mode.into())).map_err(StorageError::from_errno("fchmod"))
}

/// The group's bits become those that everybody has anyway.
const fn with_group_as_others(mode: u16) -> u16 {
    mode & !0o070 | mode & (mode & 0o007) << 3
}

fn attribute(fd: BorrowedFd<'_>, name: &str) -> Result<Option<Vec<u8>>, StorageError> {
    // By its link in /proc: a descriptor of a path alone has no attributes.
    let path = format!("/proc/self/fd/{}", fd.as_raw_fd());
    let mut value = vec![0; ACL_BYTES_MAX];
    match getxattr(path, name, &mut value[..]) {
        Ok(bytes) => {
            value.truncate(bytes);
            Ok(Some(value))
        }
        Err(Errno::NODATA | Errno::OPNOTSUPP | Errno::NOSYS) => Ok(None),
        Err(errno) => Err(StorageError::from_errno("getxattr")(errno)),
    }
}

/// Whether the file system has such lists.
fn is_supported(done: Result<(), Errno>) -> Result<bool, StorageError> {
    match done {
        Ok(()) => Ok(true),
        Err(Errno::OPNOTSUPP | Errno::NOSYS) => Ok(false),
        Err(errno) => Err(StorageError::from_errno("setxattr")(errno)),
    }
}

/// POSIX ACLs as the kernel has them in attributes (include/uapi/linux/posix_acl_xattr.h): four bytes of version, then entries of
/// tag, permissions and id, little-endian.
mod acl {
    const HEADER: usize = 4;
    const ENTRY: usize = 8;
    const GROUP: u8 = 0x04;
    const OTHERS: u8 = 0x20;

    /// The file's own group may what everybody may anyway.
    pub(super) fn with_group_as_others(mut acl: Vec<u8>) -> Vec<u8> {
        let (_, entries) = acl.split_at_mut_checked(HEADER).unwrap_or_default();
        let others = entries.chunks_exact(ENTRY).find(|entry| entry[0] == OTHERS).map_or(0, |entry| entry[2]);
        let groups = entries.chunks_exact_mut(ENTRY).filter(|entry| entry[0] == GROUP);
        groups.for_each(|entry| entry[2] &= others);
        acl
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_group_gets_no_more_than_everybody() {
        for (before, after) in
            [(0o640, 0o600), (0o664, 0o644), (0o751, 0o711), (0o604, 0o604), (0o3770, 0o3700)]
        {
            assert_eq!(with_group_as_others(before), after, "{before:o}");
        }
        let entry = |tag: u8, may: u8, id: u8| [tag, 0, may, 0, id, 0, 0, 0];
        let list = |group| {
            [
                &[2, 0, 0, 0][..],
                &entry(1, 7, 255),
                &entry(2, 6, 9),
                &entry(4, group, 255),
                &entry(16, 7, 255),
                &entry(32, 4, 255),
            ]
            .concat()
        };
        assert_eq!(acl::with_group_as_others(list(6)), list(4));
        assert!(acl::with_group_as_others(Vec::new()).is_empty());
    }
}
