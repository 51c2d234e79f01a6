//! Who may do what with a file or directory, by what its file system says: permission bits, owner and group, POSIX ACL. What
//! takes the place of something has the same as that; a copy has what cp(1) would give it.

use rustix::fd::{AsFd, AsRawFd, BorrowedFd};
use rustix::fs::{Gid, Mode, Uid, XattrFlags, fchmod, fchown, fgetxattr, fremovexattr, fsetxattr, getxattr};
use rustix::io::Errno;

use crate::metadata::Found;
use crate::notes::attribute_value;
use crate::{StorageError, namespace};

/// The extended attributes that POSIX ACLs are kept in (acl(5)); the second is what members of a directory inherit.
const ACCESS: &str = "system.posix_acl_access";
const INHERITED: &str = "system.posix_acl_default";

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
        match self.access {
            // The group's bits are what anybody in the list may have at most, and not the group's.
            Some(_) => fill,
            None => Mode::from_raw_mode((self.mode & BITS).into()) | fill,
        }
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
        if self.directory {
            match &self.inherited {
                // Where there are none, members have the permissions that they are made with.
                Some(acl) => drop(is_supported(fsetxattr(to, INHERITED, acl, XattrFlags::empty()))?),
                None => remove_attribute(to, INHERITED)?,
            }
        }
        let is_ambiguous = [self.owner, self.group].into_iter().any(namespace::may_be_another);
        if (now.owner(), now.group()) == (self.owner, self.group) && !is_ambiguous {
            return self.set_access(to, self.mode);
        }
        // What this one's group may is not another group's. And before it is given away: afterwards only its owner may do this.
        let access = self.access.clone().map(acl::with_group_as_others);
        Self { access, ..self.clone() }.set_access(to, with_group_as_others(self.mode))?;
        if is_ambiguous {
            // Whose it was cannot be known, nor can it be given to them.
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
            // It is not its own to change any more.
            Err(StorageError::Refused) => Ok(()),
            set => set,
        }
    }

    fn set_access(&self, to: BorrowedFd<'_>, mode: u16) -> Result<(), StorageError> {
        match &self.access {
            Some(acl) if is_supported(fsetxattr(to, ACCESS, acl, XattrFlags::empty()))? => {
                // The list has told the bits of owner, group and others.
                let now = Found::of(to)?.mode();
                set_mode(to, now & BITS | mode & DIRECTORY_BITS)
            }
            Some(_) => set_mode(to, with_group_as_others(mode)),
            None => {
                // What it inherited from its directory is not this one's.
                remove_attribute(to, ACCESS)?;
                set_mode(to, mode)
            }
        }
    }
}

/// Takes everybody's permissions but the owner's from a file.
pub(crate) fn withdraw(file: impl AsFd) -> Result<(), StorageError> {
    set_mode(file.as_fd(), 0o600)
}

fn set_mode(fd: BorrowedFd<'_>, mode: u16) -> Result<(), StorageError> {
    if Found::of(fd)?.mode() == mode {
        return Ok(());
    }
    let set = |mode: u16| fchmod(fd, Mode::from_raw_mode(mode.into()));
    match set(mode) {
        // Some containers refuse to set what makes new members have a directory's group.
        Err(Errno::PERM) if mode & DIRECTORY_BITS != 0 => set_mode(fd, mode & BITS),
        // On a file system where all files have the permissions that it was mounted with.
        Err(Errno::PERM | Errno::NOSYS | Errno::OPNOTSUPP) => Ok(()),
        set => set.map_err(StorageError::from_errno("fchmod")),
    }
}

/// The bits of group and others become those that both have.
const fn with_group_as_others(mode: u16) -> u16 {
    let both = mode >> 3 & mode & 0o007;
    mode & !0o077 | both << 3 | both
}

fn attribute(fd: BorrowedFd<'_>, name: &str) -> Result<Option<Vec<u8>>, StorageError> {
    let found = match attribute_value(|buffer| fgetxattr(fd, name, buffer)) {
        // A descriptor of a path alone has no attributes; its link in /proc leads to what has them.
        Err(Errno::BADF) => {
            let link = format!("/proc/self/fd/{}", fd.as_raw_fd());
            attribute_value(|buffer| getxattr(link.as_str(), name, buffer))
        }
        found => found,
    };
    match found {
        Err(Errno::OPNOTSUPP | Errno::NOSYS) => Ok(None),
        // Without /proc; not that the file is not there.
        found => found.map_err(|errno| StorageError::Io("getxattr", errno)),
    }
}

fn remove_attribute(from: BorrowedFd<'_>, name: &str) -> Result<(), StorageError> {
    match fremovexattr(from, name) {
        Err(Errno::NODATA) => Ok(()),
        removed => is_supported(removed).map(drop),
    }
}

/// Whether the file system has such lists, and can tell whom this one is about.
fn is_supported(done: Result<(), Errno>) -> Result<bool, StorageError> {
    match done {
        Ok(()) => Ok(true),
        Err(Errno::OPNOTSUPP | Errno::NOSYS | Errno::INVAL) => Ok(false),
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

    /// The file's own group, and others, may what both may.
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
