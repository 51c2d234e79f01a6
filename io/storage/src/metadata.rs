//! Metadata of files and directories, as the file system reports it.

use rustix::fd::{AsFd, BorrowedFd};
use rustix::fs::{AtFlags, FileType, Statx, StatxAttributes, StatxFlags, statx};
use weir_dav::method::Kind;

use crate::StorageError;

/// Kind of an entry. Devices, FIFOs and sockets are never shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileKind {
    /// A regular file.
    File,
    /// A directory.
    Directory,
}

/// A time since 1970, with nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Timestamp {
    /// Whole seconds; negative before 1970.
    pub seconds: i64,
    /// 0 to 999,999,999.
    pub nanoseconds: u32,
}

impl Timestamp {
    /// Returns the seconds since 1970; 0 for earlier times.
    pub fn unix_s(self) -> u64 {
        u64::try_from(self.seconds).unwrap_or(0)
    }
}

/// Metadata of a file or directory, as the file system reports it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Metadata {
    /// File or directory.
    pub kind: FileKind,
    /// Bytes of its content.
    pub size: u64,
    /// Time of the last change of the content.
    pub modified: Timestamp,
    /// Time of the last change of the content, name, attributes or permissions.
    pub changed: Timestamp,
    /// Time of creation, if the file system records it.
    pub created: Option<Timestamp>,
    /// Inode number in its file system.
    pub inode: u64,
    /// Number of its file system, as this node assigns it.
    pub device: u64,
    /// Bytes on the disk. Fewer than [`Self::size`] if the file has holes or its content is stored elsewhere.
    pub allocated: u64,
    /// User number of its owner.
    pub owner: u32,
    /// Number of its group.
    pub group: u32,
    /// Permission bits.
    pub mode: u16,
}

impl Metadata {
    /// Returns the kind in WebDAV's terms.
    pub const fn dav_kind(&self) -> Kind {
        match self.kind {
            FileKind::File => Kind::File,
            FileKind::Directory => Kind::Collection,
        }
    }

    /// Returns whether it is a directory.
    pub const fn is_directory(&self) -> bool {
        matches!(self.kind, FileKind::Directory)
    }

    /// Returns a text that changes with every change of the content and is the same on all nodes that share
    /// the file. It is the text between the quotes of a strong entity tag. A replaced file has another inode;
    /// a rewritten one has another time or size.
    pub fn version(&self) -> String {
        let Timestamp { seconds, nanoseconds } = self.modified;
        format!("{:x}-{:x}-{seconds:x}.{nanoseconds:x}", self.inode, self.size)
    }

    /// Returns whether both describe the same file and nothing about it was changed between them. Changes
    /// within one tick of the kernel's clock have the same time, so owner, group and mode are compared
    /// themselves.
    pub(crate) fn is_same_state(&self, other: &Self) -> bool {
        let state = |of: &Self| (of.device, of.changed, of.owner, of.group, of.mode);
        self.is_same_version(other) && state(self) == state(other)
    }

    /// Returns whether both describe the same file or directory, even if its content has changed. Without a
    /// creation time, a new file with a reused inode number counts as the same.
    pub fn is_still(&self, earlier: &Self) -> bool {
        (self.device, self.inode, self.created) == (earlier.device, earlier.inode, earlier.created)
    }

    /// Returns whether both describe the same content of the same file.
    pub fn is_same_version(&self, other: &Self) -> bool {
        (self.inode, self.size, self.modified) == (other.inode, other.size, other.modified)
    }
}

/// Result of `statx`, before it is known to be a file or a directory.
#[derive(Debug)]
pub(crate) struct Found(Statx);

const MASK: StatxFlags = StatxFlags::BASIC_STATS.union(StatxFlags::BTIME);

impl Found {
    /// Looks at an open file.
    pub(crate) fn of(fd: impl AsFd) -> Result<Self, StorageError> {
        Self::ask(fd.as_fd(), b"", AtFlags::EMPTY_PATH)
    }

    /// Looks at an open file in the local cache, without a request to a network server.
    pub(crate) fn of_cached(fd: impl AsFd) -> Result<Self, StorageError> {
        Self::ask(fd.as_fd(), b"", AtFlags::EMPTY_PATH | AtFlags::STATX_DONT_SYNC)
    }

    /// Looks at an open file with a new request to the network server.
    pub(crate) fn of_synced(fd: impl AsFd) -> Result<Self, StorageError> {
        Self::ask(fd.as_fd(), b"", AtFlags::EMPTY_PATH | AtFlags::STATX_FORCE_SYNC)
    }

    /// Looks at a member of a directory. Does not follow a symbolic link.
    pub(crate) fn in_directory(directory: impl AsFd, name: &[u8]) -> Result<Self, StorageError> {
        Self::ask(directory.as_fd(), name, AtFlags::SYMLINK_NOFOLLOW | AtFlags::NO_AUTOMOUNT)
    }

    fn ask(directory: BorrowedFd<'_>, name: &[u8], flags: AtFlags) -> Result<Self, StorageError> {
        statx(directory, name, flags, MASK).map(Self).map_err(StorageError::from_errno("statx"))
    }

    fn file_type(&self) -> FileType {
        FileType::from_raw_mode(self.0.stx_mode.into())
    }

    pub(crate) fn is_link(&self) -> bool {
        self.file_type() == FileType::Symlink
    }

    pub(crate) fn is_directory(&self) -> bool {
        self.file_type() == FileType::Directory
    }

    pub(crate) fn group(&self) -> u32 {
        self.0.stx_gid
    }

    pub(crate) fn owner(&self) -> u32 {
        self.0.stx_uid
    }

    /// Returns the permission bits with suid, sgid and sticky.
    pub(crate) fn mode(&self) -> u16 {
        self.0.stx_mode & 0o7777
    }

    pub(crate) fn inode(&self) -> u64 {
        self.0.stx_ino
    }

    /// Returns the time of the last change of the content.
    pub(crate) fn modified(&self) -> Timestamp {
        let modified = self.0.stx_mtime;
        Timestamp { seconds: modified.tv_sec, nanoseconds: modified.tv_nsec }
    }

    /// Returns the time of the last change of anything about it.
    pub(crate) fn changed(&self) -> Timestamp {
        let changed = self.0.stx_ctime;
        Timestamp { seconds: changed.tv_sec, nanoseconds: changed.tv_nsec }
    }

    /// Returns the time of creation, if the file system records it.
    pub(crate) fn created(&self) -> Option<Timestamp> {
        let born = self.0.stx_btime;
        let is_told = self.0.stx_mask & StatxFlags::BTIME.bits() != 0;
        is_told.then_some(Timestamp { seconds: born.tv_sec, nanoseconds: born.tv_nsec })
    }

    /// Returns the bytes of a regular file's content; `None` for anything else.
    pub(crate) fn file_bytes(&self) -> Option<u64> {
        (self.file_type() == FileType::RegularFile).then_some(self.0.stx_size)
    }

    /// Returns whether something is mounted on it; `None` = the kernel does not report it (before Linux 5.8).
    pub(crate) fn is_mount_point(&self) -> Option<bool> {
        let is_told = self.0.stx_attributes_mask.contains(StatxAttributes::MOUNT_ROOT);
        is_told.then(|| self.0.stx_attributes.contains(StatxAttributes::MOUNT_ROOT))
    }

    /// Returns the number of names (hard links).
    pub(crate) fn names(&self) -> u32 {
        self.0.stx_nlink
    }

    /// Returns a text that no other file of this file system has or will have, even after a renaming or a
    /// change of the content. `None` if the creation time is unknown, because inode numbers are reused.
    pub(crate) fn identity(&self) -> Option<String> {
        let Timestamp { seconds, nanoseconds } = self.created()?;
        Some(format!("{:x}-{seconds:x}.{nanoseconds:x}", self.inode()))
    }

    /// Returns whether both are the same file or directory.
    pub(crate) fn is_same_as(&self, other: &Self) -> bool {
        (self.device(), self.inode()) == (other.device(), other.inode())
    }

    /// Returns whether both are the same file or directory. Compares creation times, too, because inode
    /// numbers are reused.
    pub(crate) fn is_still(&self, earlier: &Self) -> bool {
        self.is_same_as(earlier) && self.created() == earlier.created()
    }

    pub(crate) fn device(&self) -> u64 {
        u64::from(self.0.stx_dev_major) << 32 | u64::from(self.0.stx_dev_minor)
    }

    /// Returns the metadata; refuses anything but a file or a directory.
    pub(crate) fn metadata(&self) -> Result<Metadata, StorageError> {
        let stat = &self.0;
        let kind = match self.file_type() {
            FileType::RegularFile => FileKind::File,
            FileType::Directory => FileKind::Directory,
            _ => return Err(StorageError::Refused),
        };
        let time = |seconds, nanoseconds| Timestamp { seconds, nanoseconds };
        Ok(Metadata {
            kind,
            size: stat.stx_size,
            modified: time(stat.stx_mtime.tv_sec, stat.stx_mtime.tv_nsec),
            changed: time(stat.stx_ctime.tv_sec, stat.stx_ctime.tv_nsec),
            created: self.created(),
            inode: stat.stx_ino,
            device: self.device(),
            allocated: stat.stx_blocks.saturating_mul(512),
            owner: stat.stx_uid,
            group: stat.stx_gid,
            mode: self.mode(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_of_who_may_read_a_file_is_seen_though_the_clock_has_not_moved_on() {
        let file = tempfile::tempfile().unwrap();
        let before = Found::of(&file).unwrap().metadata().unwrap();
        assert!(before.is_same_state(&before));
        let changed = [
            Metadata { mode: before.mode ^ 0o400, ..before },
            Metadata { owner: before.owner ^ 1, ..before },
            Metadata { group: before.group ^ 1, ..before },
        ];
        for now in changed {
            assert!(!now.is_same_state(&before), "{now:?}");
        }
    }
}
