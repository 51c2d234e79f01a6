//! Files that responses are sent from.

use std::io;
use std::os::fd::BorrowedFd;
use std::time::Instant;

use super::LocalFuture;
use crate::PageBuffer;

/// An open file as the source of a response.
pub trait FileSource {
    /// Returns the descriptor, for sending from the page cache.
    fn descriptor(&self) -> BorrowedFd<'_>;

    /// Returns true if these bytes are in the page cache, as far as known without waiting. The caller then
    /// sends them from the descriptor; a wrong `true` would block the worker until the disk responds. The
    /// result may be cached for aligned ranges of whole MiB, which makes those queries faster.
    fn is_resident(&self, offset: u64, length: u64, now: Instant) -> bool;

    /// Reads bytes that are in memory; 0 = the file ends before `offset`.
    ///
    /// # Errors
    /// `WouldBlock` if the bytes must be read from the disk.
    fn read_now(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize>;

    /// Reads up to `length` bytes on a thread that may block; no bytes = the file ends before `offset`.
    fn read(&self, offset: u64, length: usize) -> LocalFuture<io::Result<PageBuffer>>;
}
