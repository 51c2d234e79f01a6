use std::io;
use std::os::fd::BorrowedFd;
use std::time::Instant;

use super::LocalFuture;
use crate::PageBuffer;

/// An open file that an answer sends from.
pub trait FileSource {
    /// The descriptor, for sending from the page cache.
    fn descriptor(&self) -> BorrowedFd<'_>;

    /// Whether these bytes are in memory `now`, as far as can be told without waiting. Who asks goes on to send them from the
    /// descriptor; a wrong yes would stall it for as long as the disk takes. The answer may be remembered for whole MiB of the file:
    /// who asks for those is answered faster.
    fn is_resident(&self, offset: u64, length: u64, now: Instant) -> bool;

    /// Reads what is in memory; 0 = the file ends before `offset`.
    ///
    /// # Errors
    /// `WouldBlock`: the disk would have to be asked.
    fn read_now(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize>;

    /// Reads up to `length` bytes on a thread that may wait; none = the file ends before `offset`.
    fn read(&self, offset: u64, length: usize) -> LocalFuture<io::Result<PageBuffer>>;
}
