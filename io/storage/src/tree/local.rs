use rustix::fd::AsFd;
use rustix::fs::fstatfs;

/// File systems that are on this machine, by their magic numbers: ext2 to ext4, XFS, Btrfs, tmpfs, ramfs, overlayfs, F2FS,
/// ZFS, squashfs. Of all others it is assumed that they may wait for a network.
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

/// Those of them that have no disk: tmpfs, ramfs.
const MEMORY: [u64; 2] = [0x0102_1994, 0x8584_58f6];

/// Where a file system is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Location {
    /// In the memory of this machine.
    Memory,
    /// On this machine.
    Here,
    /// Perhaps behind a network.
    Elsewhere,
}

impl Location {
    /// Of what is open. Blocks.
    pub(super) fn of(fd: impl AsFd) -> Self {
        let Ok(found) = fstatfs(fd) else { return Self::Elsewhere };
        // The number is signed on some machines and has 32 bits everywhere.
        match found.f_type as u64 & 0xffff_ffff {
            magic if MEMORY.contains(&magic) => Self::Memory,
            magic if LOCAL.contains(&magic) => Self::Here,
            _ => Self::Elsewhere,
        }
    }
}
