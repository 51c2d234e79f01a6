//! Files that are open for reading.

use std::io::IoSliceMut;
use std::num::NonZeroU64;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::fs::{Advice, fadvise};
use rustix::io::{Errno, ReadWriteFlags, pread, preadv2};

use crate::metadata::Found;
use crate::residency::Residency;
use crate::{Metadata, StorageError};

/// A regular file, open for reading. If an upload replaces the file, open handles still read the old content.
#[derive(Debug)]
pub struct OpenFile {
    fd: OwnedFd,
    metadata: Metadata,
    residency: Residency,
    /// Set once the kernel knows that the file is read in order.
    is_sequential: AtomicBool,
    /// True if the file system has no disk to wait for.
    pub(crate) is_in_memory: bool,
}

impl OpenFile {
    pub(crate) fn new(fd: OwnedFd, found: &Found) -> Result<Self, StorageError> {
        let metadata = found.metadata()?;
        if metadata.is_directory() {
            return Err(StorageError::IsDirectory);
        }
        let residency = Residency::new(metadata.size, Instant::now());
        Ok(Self { fd, metadata, residency, is_sequential: AtomicBool::new(false), is_in_memory: false })
    }

    /// Returns the file's metadata when it was opened.
    pub fn metadata(&self) -> &Metadata {
        &self.metadata
    }

    /// Returns the file's current metadata, because other programs may write into it. Blocks.
    pub fn metadata_now(&self) -> Result<Metadata, StorageError> {
        Found::of(&self.fd)?.metadata()
    }

    /// Reads from the page cache at `offset`, and never waits. Fails with [`StorageError::WouldBlock`] if the
    /// first byte is not cached or the file system cannot tell. Returns 0 at the end of the file.
    pub fn read_now(&self, offset: u64, buffer: &mut [u8]) -> Result<usize, StorageError> {
        if self.is_in_memory {
            // tmpfs does not support the flag (EOPNOTSUPP). It waits only for swapped-out pages, as this
            // process's own memory does.
            return pread(&self.fd, buffer, offset).map_err(StorageError::from_errno("pread"));
        }
        match preadv2(&self.fd, &mut [IoSliceMut::new(buffer)], offset, ReadWriteFlags::NOWAIT) {
            Err(Errno::AGAIN | Errno::INTR | Errno::OPNOTSUPP | Errno::INVAL | Errno::NOSYS) => {
                Err(StorageError::WouldBlock)
            }
            read => read.map_err(StorageError::from_errno("preadv2")),
        }
    }

    /// Reads from `offset` until the buffer is full, and waits for the disk. Returns less only at the end of
    /// the file.
    pub fn read(&self, offset: u64, buffer: &mut [u8]) -> Result<usize, StorageError> {
        let mut filled = 0;
        while let Some(rest) = buffer.get_mut(filled..).filter(|rest| !rest.is_empty()) {
            match pread(&self.fd, rest, offset.saturating_add(filled as u64)) {
                Ok(0) => break,
                Ok(read) => filled += read,
                Err(Errno::INTR) => {}
                Err(errno) => return Err(StorageError::from_errno("pread")(errno)),
            }
        }
        Ok(filled)
    }

    /// Returns whether the file system is in memory (tmpfs, ramfs), so that all of the file is always there.
    pub fn is_in_memory(&self) -> bool {
        self.is_in_memory
    }

    /// Returns whether a part of the file seems to be in the page cache, judged by up to 16 positions in it.
    /// This is a hint that sending it will not wait for the disk. Does not wait.
    pub fn is_resident(&self, offset: u64, bytes: u64) -> bool {
        const PLACES: u64 = 16;
        let Some(last) = bytes.min(self.metadata.size.saturating_sub(offset)).checked_sub(1) else {
            return true;
        };
        let step = (last / (PLACES - 1)).max(4096);
        let places = (0..PLACES).map(|place| place * step).take_while(|at| *at < last).chain([last]);
        let mut byte = [0];
        places.into_iter().all(|at| self.read_now(offset + at, &mut byte).is_ok())
    }

    /// Returns whether a whole part of the file was found in the page cache a moment before `now`.
    pub fn was_resident(&self, offset: u64, bytes: u64, now: Instant) -> bool {
        self.residency.was_seen(offset, bytes, now)
    }

    /// Records that a whole part of the file was found in the page cache at `now`, for each whole portion of
    /// [`PORTION_BYTES`](crate::PORTION_BYTES).
    pub fn seen_resident(&self, offset: u64, bytes: u64, now: Instant) {
        self.residency.saw(offset, bytes, now);
    }

    /// Reads a part of the file into the page cache, if there is room. Blocks.
    pub fn prefetch(&self, offset: u64, bytes: u64) {
        // If the kernel ignores the advice, the only cost is time.
        let _ = fadvise(&self.fd, offset, NonZeroU64::new(bytes), Advice::WillNeed);
    }

    /// Returns whether the content is unchanged since the file was opened. Blocks.
    pub fn is_unchanged(&self) -> Result<bool, StorageError> {
        Ok(Found::of(&self.fd)?.metadata()?.is_same_version(&self.metadata))
    }

    /// Returns whether the file has no name any more, so that closing it frees its blocks. Does not wait on a
    /// local file system.
    pub(crate) fn is_removed(&self) -> bool {
        rustix::fs::fstat(&self.fd).is_ok_and(|status| status.st_nlink == 0)
    }

    /// Tells the kernel that the file will be read from start to end, so that it reads further ahead. Does
    /// nothing for a file that one read-ahead covers.
    pub fn expect_sequential(&self) {
        /// Linux's default for read-ahead.
        const READ_AHEAD_BYTES: u64 = 128 * 1024;
        let is_told = |told: &AtomicBool| told.load(Ordering::Relaxed) || told.swap(true, Ordering::Relaxed);
        if self.metadata.size <= READ_AHEAD_BYTES || is_told(&self.is_sequential) {
            return;
        }
        let _ = fadvise(&self.fd, 0, None, Advice::Sequential);
    }
}

impl AsFd for OpenFile {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}
