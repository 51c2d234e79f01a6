//! Detection of file systems that are local or in memory.

use rustix::fd::AsFd;
use rustix::fs::fstatfs;

/// Magic numbers of local file systems: ext2 to ext4, XFS, Btrfs, tmpfs, ramfs, overlayfs, F2FS, ZFS,
/// squashfs. All others are assumed to wait for a network.
const LOCAL: [u64; 9] = [
    0xef53,
    0x5846_5342,
    0x9123_683e,
    0x0102_1994,
    0x8584_58f6,
    0x794c_7630,
    0xf2f5_2010,
    0x2fc1_2fc1,
    0x7371_7368,
];

/// Magic numbers of the local file systems that have no disk: tmpfs, ramfs.
const MEMORY: [u64; 2] = [0x0102_1994, 0x8584_58f6];

/// Location of a file system's data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Location {
    /// In the memory of this machine.
    Memory,
    /// On a disk of this machine.
    Here,
    /// Perhaps behind a network.
    Elsewhere,
}

impl Location {
    /// Returns the location of an open file. Blocks.
    pub(super) fn of(fd: impl AsFd) -> Self {
        let Ok(found) = fstatfs(fd) else { return Self::Elsewhere };
        // `f_type` is signed on some machines; the magic numbers have 32 bits everywhere.
        match found.f_type as u64 & 0xffff_ffff {
            magic if MEMORY.contains(&magic) => Self::Memory,
            magic if LOCAL.contains(&magic) => Self::Here,
            _ => Self::Elsewhere,
        }
    }
}
