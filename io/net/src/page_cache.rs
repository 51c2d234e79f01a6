//! Queries of the page cache.

use std::os::fd::{AsRawFd, BorrowedFd};

/// Returns true if the page cache holds every page of this part of the file. Uses one call that reads no
/// page: `cachestat(2)`, Linux 6.5. A page that is being read counts as cached.
///
/// Returns `None` if the kernel does not support the call, refuses it (only the file's owner and users with
/// write permission may ask), or knows none of the pages. Does not wait.
pub fn is_cached(file: BorrowedFd<'_>, offset: u64, bytes: u64) -> Option<bool> {
    let Some(last) = bytes.checked_sub(1) else { return Some(true) };
    let page = page_bytes()?;
    let pages = offset.checked_add(last)? / page - offset / page + 1;
    match cached_pages(file, offset, bytes)? {
        // A file system may keep its pages elsewhere (DAX).
        0 => None,
        cached => Some(cached >= pages),
    }
}

/// Number of the call, which is the same on every architecture (include/uapi/asm-generic/unistd.h). libc does
/// not define it for all of them.
const CACHESTAT: libc::c_long = 451;

#[allow(unsafe_code)]
fn page_bytes() -> Option<u64> {
    // SAFETY: the call takes no pointers.
    let bytes = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    u64::try_from(bytes).ok().filter(|bytes| *bytes > 0)
}

#[allow(unsafe_code)]
fn cached_pages(file: BorrowedFd<'_>, offset: u64, bytes: u64) -> Option<u64> {
    #[repr(C)]
    struct Range {
        offset: u64,
        bytes: u64,
    }
    #[repr(C)]
    #[derive(Default)]
    struct Pages {
        cached: u64,
        dirty: u64,
        writeback: u64,
        evicted: u64,
        recently_evicted: u64,
    }
    let range = Range { offset, bytes };
    let mut pages = Pages::default();
    // SAFETY: both structures are laid out as `struct cachestat_range` and `struct cachestat` of
    // linux/mman.h, and live until the call returns; the descriptor is borrowed for as long.
    let result = unsafe { libc::syscall(CACHESTAT, file.as_raw_fd(), &raw const range, &raw mut pages, 0) };
    (result == 0).then_some(pages.cached)
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::io::{Read, Write};
    use std::os::fd::AsFd;

    use rustix::fs::{Advice, fadvise};

    use super::*;

    const BYTES: u64 = 1 << 20;

    #[test]
    fn what_was_just_written_is_cached_and_what_was_dropped_is_not() {
        let mut file = tempfile::tempfile_in("/var/tmp").unwrap();
        file.write_all(&vec![7; BYTES as usize]).unwrap();
        if is_cached(file.as_fd(), 0, BYTES).is_none() {
            // The kernel is older than 6.5. The callers test their own fallback.
            assert!(cached_pages(file.as_fd(), 0, BYTES).is_none());
            return;
        }
        assert_eq!(is_cached(file.as_fd(), 0, BYTES), Some(true));
        assert_eq!(is_cached(file.as_fd(), BYTES - 1, 1), Some(true));
        assert_eq!(is_cached(file.as_fd(), 100, 0), Some(true));
        file.sync_all().unwrap();
        drop_from_cache(&file);
        assert_eq!(is_cached(file.as_fd(), 0, BYTES), None);
        // One page of many.
        fadvise(&file, 0, None, Advice::Random).unwrap();
        std::io::Seek::seek(&mut file, std::io::SeekFrom::Start(BYTES / 2)).unwrap();
        file.read_exact(&mut [0]).unwrap();
        assert_eq!(is_cached(file.as_fd(), 0, BYTES), Some(false));
    }

    fn drop_from_cache(file: &File) {
        fadvise(file, 0, None, Advice::DontNeed).unwrap();
    }

    #[test]
    fn what_is_beyond_all_bounds_is_not_told() {
        let file = tempfile::tempfile_in("/var/tmp").unwrap();
        assert_eq!(is_cached(file.as_fd(), u64::MAX, 2), None);
        assert_eq!(is_cached(file.as_fd(), 0, 10), None);
    }
}
