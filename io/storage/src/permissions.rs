//! Permissions that the file system stores: permission bits, owner and group, POSIX ACL. A file that replaces
//! another one gets the same permissions; a copy gets those that cp(1) would give it.

use rustix::fd::{AsFd, AsRawFd, BorrowedFd};
use rustix::fs::{Gid, Mode, Uid, XattrFlags, fchmod, fchown, fgetxattr, fremovexattr, fsetxattr, getxattr};
use rustix::io::Errno;

use crate::metadata::Found;
use crate::notes::attribute_value;
use crate::{StorageError, namespace};

/// Extended attributes for POSIX ACLs (acl(5)). Members of a directory inherit the second one.
const ACCESS: &str = "system.posix_acl_access";
const INHERITED: &str = "system.posix_acl_default";

/// Mode of a file that only its owner can use.
pub(crate) const PRIVATE: Mode = Mode::RUSR.union(Mode::WUSR);

/// Bits for owner, group and others.
const BITS: u16 = 0o777;
/// Further bits of directories: setgid and sticky.
const DIRECTORY_BITS: u16 = 0o3000;

/// Permissions of one file or directory.
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
    /// Reads the permissions of an open file, which may be open as a path only.
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

    /// Returns the mode with which a copy is created, before the umask or inherited permissions apply. It has
    /// the source's bits, and those that are needed to fill the copy.
    pub(crate) fn creation_mode(&self) -> Mode {
        let fill = if self.directory { Mode::RWXU } else { PRIVATE };
        match self.access {
            // With an ACL, the group bits are the mask for all its entries, not the group's permissions.
            Some(_) => fill,
            None => Mode::from_raw_mode((self.mode & BITS).into()) | fill,
        }
    }

    pub(crate) fn is_directory(&self) -> bool {
        self.directory
    }

    /// Limits a copy to the source's permissions. The copy was created with [`Self::creation_mode`] and
    /// belongs to its creator.
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

    /// Gives these permissions to a file that takes this one's place, with owner and group as far as the
    /// process may set them.
    pub(crate) fn give(&self, to: impl AsFd) -> Result<(), StorageError> {
        let to = to.as_fd();
        let now = Found::of(to)?;
        if self.directory {
            match &self.inherited {
                // If unsupported, members have the permissions that they are created with.
                Some(acl) => drop(is_supported(fsetxattr(to, INHERITED, acl, XattrFlags::empty()))?),
                None => remove_attribute(to, INHERITED)?,
            }
        }
        let is_ambiguous = [self.owner, self.group].into_iter().any(namespace::may_be_another);
        if (now.owner(), now.group()) == (self.owner, self.group) && !is_ambiguous {
            return self.set_access(to, self.mode);
        }
        // The old group's permissions must not go to another group. The permissions are set before the owner
        // changes, because afterwards only the new owner may do so.
        let access = self.access.clone().map(acl::with_group_as_others);
        Self { access, ..self.clone() }.set_access(to, with_group_as_others(self.mode))?;
        if is_ambiguous {
            // The real owner or group is not known, so the file cannot be given to them.
            return Ok(());
        }
        let group = Some(Gid::from_raw(self.group));
        let has_group = fchown(to, Some(Uid::from_raw(self.owner)), group).is_ok()
            || now.group() == self.group
            || fchown(to, None, group).is_ok();
        if !has_group {
            return Ok(());
        }
        match self.set_access(to, self.mode) {
            // The file belongs to another owner now.
            Err(StorageError::Refused) => Ok(()),
            set => set,
        }
    }

    fn set_access(&self, to: BorrowedFd<'_>, mode: u16) -> Result<(), StorageError> {
        match &self.access {
            Some(acl) if is_supported(fsetxattr(to, ACCESS, acl, XattrFlags::empty()))? => {
                // The ACL has set the bits of owner, group and others.
                let now = Found::of(to)?.mode();
                set_mode(to, now & BITS | mode & DIRECTORY_BITS)
            }
            Some(_) => set_mode(to, with_group_as_others(mode)),
            None => {
                // Removes the ACL that was inherited from the directory.
                remove_attribute(to, ACCESS)?;
                set_mode(to, mode)
            }
        }
    }
}

/// Removes all permissions except the owner's from a file.
pub(crate) fn withdraw(file: impl AsFd) -> Result<(), StorageError> {
    set_mode(file.as_fd(), 0o600)
}

fn set_mode(fd: BorrowedFd<'_>, mode: u16) -> Result<(), StorageError> {
    if Found::of(fd)?.mode() == mode {
        return Ok(());
    }
    let set = |mode: u16| fchmod(fd, Mode::from_raw_mode(mode.into()));
    match set(mode) {
        // Some containers refuse to set a directory's setgid bit.
        Err(Errno::PERM) if mode & DIRECTORY_BITS != 0 => set_mode(fd, mode & BITS),
        // The file system gives all files the permissions that it was mounted with.
        Err(Errno::PERM | Errno::NOSYS | Errno::OPNOTSUPP) => Ok(()),
        set => set.map_err(StorageError::from_errno("fchmod")),
    }
}

/// Reduces the bits of group and others to those that both have.
const fn with_group_as_others(mode: u16) -> u16 {
    let both = mode >> 3 & mode & 0o007;
    mode & !0o077 | both << 3 | both
}

fn attribute(fd: BorrowedFd<'_>, name: &str) -> Result<Option<Vec<u8>>, StorageError> {
    let found = match attribute_value(|buffer| fgetxattr(fd, name, buffer)) {
        // An O_PATH descriptor cannot read attributes. Its link in /proc leads to the file itself.
        Err(Errno::BADF) => {
            let link = format!("/proc/self/fd/{}", fd.as_raw_fd());
            attribute_value(|buffer| getxattr(link.as_str(), name, buffer))
        }
        found => found,
    };
    match found {
        Err(Errno::OPNOTSUPP | Errno::NOSYS) => Ok(None),
        // ENOENT means that /proc is missing, not the file.
        found => found.map_err(|errno| StorageError::Io("getxattr", errno)),
    }
}

fn remove_attribute(from: BorrowedFd<'_>, name: &str) -> Result<(), StorageError> {
    match fremovexattr(from, name) {
        Err(Errno::NODATA) => Ok(()),
        removed => is_supported(removed).map(drop),
    }
}

/// Returns whether the file system supports ACLs and the ids in this one.
fn is_supported(done: Result<(), Errno>) -> Result<bool, StorageError> {
    match done {
        Ok(()) => Ok(true),
        Err(Errno::OPNOTSUPP | Errno::NOSYS | Errno::INVAL) => Ok(false),
        Err(errno) => Err(StorageError::from_errno("setxattr")(errno)),
    }
}

/// POSIX ACLs as the kernel stores them in attributes (include/uapi/linux/posix_acl_xattr.h): a version of
/// four bytes, then entries of tag, permissions and id, little-endian.
mod acl {
    const HEADER: usize = 4;
    const ENTRY: usize = 8;
    const GROUP: u8 = 0x04;
    const OTHERS: u8 = 0x20;

    /// Reduces the entries of the file's own group and of others to the permissions that both have.
    pub(super) fn with_group_as_others(mut acl: Vec<u8>) -> Vec<u8> {
        let (_, entries) = acl.split_at_mut_checked(HEADER).unwrap_or_default();
        let is_one = |entry: &&[u8]| matches!(entry[0], GROUP | OTHERS);
        let both = entries.chunks_exact(ENTRY).filter(is_one).fold(7, |both, entry| both & entry[2]);
        let all = entries.chunks_exact_mut(ENTRY);
        all.filter(|entry| is_one(&&**entry)).for_each(|entry| entry[2] = both);
        acl
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_group_gets_no_more_than_everybody() {
        for (before, after) in
            [(0o640, 0o600), (0o664, 0o644), (0o751, 0o711), (0o604, 0o600), (0o3770, 0o3700)]
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
