use rustix::fd::{AsFd, BorrowedFd};
use rustix::fs::{AtFlags, FileType, Statx, StatxAttributes, StatxFlags, statx};
use weir_dav::method::Kind;

use crate::StorageError;

/// What something is. Nothing else is ever shown: no devices, no FIFOs, no sockets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileKind {
    /// A regular file.
    File,
    /// A directory.
    Directory,
}

/// A time with its nanoseconds, since 1970.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Timestamp {
    /// Whole seconds; negative before 1970.
    pub seconds: i64,
    /// 0 to 999,999,999.
    pub nanoseconds: u32,
}

impl Timestamp {
    /// Seconds since 1970; times before it are 0.
    pub fn unix_s(self) -> u64 {
        u64::try_from(self.seconds).unwrap_or(0)
    }
}

/// What the file system tells of a file or directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Metadata {
    /// File or directory.
    pub kind: FileKind,
    /// Bytes of its content.
    pub size: u64,
    /// When its content was changed last.
    pub modified: Timestamp,
    /// When anything about it was changed last, its name, its attributes and its permissions included.
    pub changed: Timestamp,
    /// When it came into being, where the file system tells.
    pub created: Option<Timestamp>,
    /// Its number in its file system.
    pub inode: u64,
    /// Its file system, as this node numbers them.
    pub device: u64,
    /// Bytes that it takes up. Fewer than [`Self::size`] if it has holes, or if its content is elsewhere.
    pub allocated: u64,
    /// User number of its owner.
    pub owner: u32,
    /// Number of its group.
    pub group: u32,
    /// Permission bits.
    pub mode: u16,
}

impl Metadata {
    /// In WebDAV's words.
    pub const fn dav_kind(&self) -> Kind {
        match self.kind {
            FileKind::File => Kind::File,
            FileKind::Directory => Kind::Collection,
        }
    }

    /// Whether it is a directory.
    pub const fn is_directory(&self) -> bool {
        matches!(self.kind, FileKind::Directory)
    }

    /// What changes with every change of the content, and is the same on all nodes that share the file: the text between
    /// the quotes of a strong entity tag. Replacing a file gives another inode, writing into it another time or size.
    pub fn version(&self) -> String {
        let Timestamp { seconds, nanoseconds } = self.modified;
        format!("{:x}-{:x}-{seconds:x}.{nanoseconds:x}", self.inode, self.size)
    }

    /// Whether both are of the same file, and nothing about it was changed between them. Changes within one tick of the kernel's clock have
    /// the same time: who may read it is compared itself.
    pub(crate) fn is_same_state(&self, other: &Self) -> bool {
        let state = |of: &Self| (of.device, of.changed, of.owner, of.group, of.mode);
        self.is_same_version(other) && state(self) == state(other)
    }

    /// Whether both are of the same file or directory, whatever has become of what is in it. Where the file system does not tell
    /// when something came into being, one that has got the inode number of another counts as that.
    pub fn is_still(&self, earlier: &Self) -> bool {
        (self.device, self.inode, self.created) == (earlier.device, earlier.inode, earlier.created)
    }

    /// Whether both are of the same content of the same file.
    pub fn is_same_version(&self, other: &Self) -> bool {
        (self.inode, self.size, self.modified) == (other.inode, other.size, other.modified)
    }
}

/// What `statx` found, before it is known to be a file or a directory.
#[derive(Debug)]
pub(crate) struct Found(Statx);

const MASK: StatxFlags = StatxFlags::BASIC_STATS.union(StatxFlags::BTIME);

impl Found {
    /// Of an open file.
    pub(crate) fn of(fd: impl AsFd) -> Result<Self, StorageError> {
        Self::ask(fd.as_fd(), b"", AtFlags::EMPTY_PATH)
    }

    /// Of an open file, from what is known here, without asking a server on the network.
    pub(crate) fn of_cached(fd: impl AsFd) -> Result<Self, StorageError> {
        Self::ask(fd.as_fd(), b"", AtFlags::EMPTY_PATH | AtFlags::STATX_DONT_SYNC)
    }

    /// Of an open file, by asking the server on the network anew.
    pub(crate) fn of_synced(fd: impl AsFd) -> Result<Self, StorageError> {
        Self::ask(fd.as_fd(), b"", AtFlags::EMPTY_PATH | AtFlags::STATX_FORCE_SYNC)
    }

    /// Of a member of a directory; a symbolic link itself, and not what it points at.
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

    /// Its permission bits and those beside them (suid, sgid, sticky).
    pub(crate) fn mode(&self) -> u16 {
        self.0.stx_mode & 0o7777
    }

    pub(crate) fn inode(&self) -> u64 {
        self.0.stx_ino
    }

    /// When its content was changed last.
    pub(crate) fn modified(&self) -> Timestamp {
        let modified = self.0.stx_mtime;
        Timestamp { seconds: modified.tv_sec, nanoseconds: modified.tv_nsec }
    }

    /// When anything about it was changed last.
    pub(crate) fn changed(&self) -> Timestamp {
        let changed = self.0.stx_ctime;
        Timestamp { seconds: changed.tv_sec, nanoseconds: changed.tv_nsec }
    }

    /// When it came into being, where the file system tells.
    pub(crate) fn created(&self) -> Option<Timestamp> {
        let born = self.0.stx_btime;
        let is_told = self.0.stx_mask & StatxFlags::BTIME.bits() != 0;
        is_told.then_some(Timestamp { seconds: born.tv_sec, nanoseconds: born.tv_nsec })
    }

    /// Bytes of a regular file's content; `None` = it is something else.
    pub(crate) fn file_bytes(&self) -> Option<u64> {
        (self.file_type() == FileType::RegularFile).then_some(self.0.stx_size)
    }

    /// Returns whether something is mounted on it; `None` = the kernel does not tell (before Linux 5.8).
    pub(crate) fn is_mount_point(&self) -> Option<bool> {
        let is_told = self.0.stx_attributes_mask.contains(StatxAttributes::MOUNT_ROOT);
        is_told.then(|| self.0.stx_attributes.contains(StatxAttributes::MOUNT_ROOT))
    }

    /// How many names it has.
    pub(crate) fn names(&self) -> u32 {
        self.0.stx_nlink
    }

    /// Tells it from whatever else this file system has or will have, whatever becomes of its name and content. `None`: this
    /// cannot be told, because an inode number alone may be another's later.
    pub(crate) fn identity(&self) -> Option<String> {
        let Timestamp { seconds, nanoseconds } = self.created()?;
        Some(format!("{:x}-{seconds:x}.{nanoseconds:x}", self.inode()))
    }

    /// Whether both are one file or directory.
    pub(crate) fn is_same_as(&self, other: &Self) -> bool {
        (self.device(), self.inode()) == (other.device(), other.inode())
    }

    /// The same, also where an inode number may be another's since.
    pub(crate) fn is_still(&self, earlier: &Self) -> bool {
        self.is_same_as(earlier) && self.created() == earlier.created()
    }

    pub(crate) fn device(&self) -> u64 {
        u64::from(self.0.stx_dev_major) << 32 | u64::from(self.0.stx_dev_minor)
    }

    /// Refuses what is neither file nor directory.
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
