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

/// A regular file, open for reading. What is read through it is one content: a file that is replaced by an upload stays as
/// it was for those who have it open.
#[derive(Debug)]
pub struct OpenFile {
    fd: OwnedFd,
    metadata: Metadata,
    residency: Residency,
    /// The kernel was told that it is read in order.
    is_sequential: AtomicBool,
    /// Its file system has no disk to wait for.
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

    /// What the file was when it was opened.
    pub fn metadata(&self) -> &Metadata {
        &self.metadata
    }

    /// What the file is now: another program may be writing into it. Blocks.
    pub fn metadata_now(&self) -> Result<Metadata, StorageError> {
        Found::of(&self.fd)?.metadata()
    }

    /// Reads what is in the page cache from `offset` on, and never waits: [`StorageError::WouldBlock`] if the first byte is
    /// not there, or if the file system cannot tell. 0 at the end of the file.
    pub fn read_now(&self, offset: u64, buffer: &mut [u8]) -> Result<usize, StorageError> {
        if self.is_in_memory {
            // tmpfs does not take the flag (EOPNOTSUPP), and has nothing to wait for but what was swapped out, as this process has.
            return pread(&self.fd, buffer, offset).map_err(StorageError::from_errno("pread"));
        }
        match preadv2(&self.fd, &mut [IoSliceMut::new(buffer)], offset, ReadWriteFlags::NOWAIT) {
            Err(Errno::AGAIN | Errno::INTR | Errno::OPNOTSUPP | Errno::INVAL | Errno::NOSYS) => {
                Err(StorageError::WouldBlock)
            }
            read => read.map_err(StorageError::from_errno("preadv2")),
        }
    }

    /// Reads from `offset` on, as much as there is room for, and waits for the disk. Less only at the end of the file.
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

    /// Whether its file system is in memory (tmpfs, ramfs): all of it is always there.
    pub fn is_in_memory(&self) -> bool {
        self.is_in_memory
    }

    /// Whether a part of the file seems to be in the page cache, by a look at up to 16 places of it: a hint that sending it
    /// from the disk will not wait. Does not wait itself.
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

    /// Whether all of a part of the file was found in the page cache a moment before `now`.
    pub fn was_resident(&self, offset: u64, bytes: u64, now: Instant) -> bool {
        self.residency.was_seen(offset, bytes, now)
    }

    /// All of a part of the file was found in the page cache `now`; remembered of whole portions of
    /// [`PORTION_BYTES`](crate::PORTION_BYTES).
    pub fn seen_resident(&self, offset: u64, bytes: u64, now: Instant) {
        self.residency.saw(offset, bytes, now);
    }

    /// Brings a part of the file into the page cache, if there is room. Blocks.
    pub fn prefetch(&self, offset: u64, bytes: u64) {
        // Advice that is not taken costs only time.
        let _ = fadvise(&self.fd, offset, NonZeroU64::new(bytes), Advice::WillNeed);
    }

    /// Whether its content is what it was when it was opened. Blocks.
    pub fn is_unchanged(&self) -> Result<bool, StorageError> {
        Ok(Found::of(&self.fd)?.metadata()?.is_same_version(&self.metadata))
    }

    /// Whether no name leads to it any more, so that closing it frees what it holds. Does not wait on a local file system.
    pub(crate) fn is_removed(&self) -> bool {
        rustix::fs::fstat(&self.fd).is_ok_and(|status| status.st_nlink == 0)
    }

    /// Says that the file is going to be read from one end to the other, so that the kernel reads further ahead; of a file
    /// that the kernel reads in one go anyway nothing needs to be said.
    pub fn expect_sequential(&self) {
        /// What Linux reads ahead by default.
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
