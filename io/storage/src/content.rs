//! Copying a file's content in the cheapest way that the file systems offer.

use std::sync::atomic::{AtomicBool, Ordering};

use rustix::fd::BorrowedFd;
use rustix::fs::{SeekFrom, copy_file_range, ftruncate, ioctl_ficlone, seek};
use rustix::io::Errno;
use weir_dav::digest::Digest;
use weir_net::PageBuffer;

use crate::notes::write_all;
use crate::{Metadata, OpenFile, StorageError};

/// Bytes that are copied between two checks for cancellation.
const STEP_BYTES: u64 = 64 << 20;

/// Copies `from` into the empty file `to`: by sharing blocks, by a copy in the kernel or on the server, or by
/// reading and writing. Holes stay holes. Returns the metadata of the copied content.
///
/// # Errors
/// [`StorageError::Changed`] if another program wrote into the source meanwhile.
pub(crate) fn copy_content(
    from: &OpenFile,
    to: BorrowedFd<'_>,
    cancelled: &AtomicBool,
) -> Result<Metadata, StorageError> {
    let before = from.metadata_now()?;
    if ioctl_ficlone(to, from).is_err() {
        ftruncate(to, before.size).map_err(StorageError::from_errno("ftruncate"))?;
        let mut at = 0;
        while let Some((start, end)) = next_data(from, at, before.size)? {
            copy_part(from, to, start, end, cancelled)?;
            at = end;
        }
    }
    if from.metadata_now()?.is_same_version(&before) { Ok(before) } else { Err(StorageError::Changed) }
}

/// Copies like [`copy_content`], and returns the checksums of the copy. `known` supplies the source's
/// checksums. The result is empty if another program changed the source before it was copied.
pub(crate) fn copy_with_checksums(
    from: &OpenFile,
    to: BorrowedFd<'_>,
    known: impl FnOnce() -> Result<Vec<Digest>, StorageError>,
    cancelled: &AtomicBool,
) -> Result<Vec<Digest>, StorageError> {
    let before = from.metadata_now()?;
    let digests = known()?;
    let copied = copy_content(from, to, cancelled)?;
    Ok(if copied.is_same_version(&before) { digests } else { Vec::new() })
}

/// Returns the start and end of the next range with data, from `at` on.
fn next_data(from: &OpenFile, at: u64, size: u64) -> Result<Option<(u64, u64)>, StorageError> {
    if at >= size {
        return Ok(None);
    }
    let start = match seek(from, SeekFrom::Data(at)) {
        Ok(start) => start,
        Err(Errno::NXIO) => return Ok(None),
        // The file system does not report holes.
        Err(Errno::INVAL | Errno::OPNOTSUPP) => return Ok(Some((at, size))),
        Err(errno) => return Err(StorageError::from_errno("lseek")(errno)),
    };
    let end = seek(from, SeekFrom::Hole(start)).map_err(StorageError::from_errno("lseek"))?;
    Ok((start < size).then_some((start, end.min(size))))
}

fn copy_part(
    from: &OpenFile,
    to: BorrowedFd<'_>,
    mut at: u64,
    end: u64,
    cancelled: &AtomicBool,
) -> Result<(), StorageError> {
    while at < end {
        if cancelled.load(Ordering::Relaxed) {
            return Err(StorageError::Cancelled);
        }
        let bytes = usize::try_from((end - at).min(STEP_BYTES)).unwrap_or(usize::MAX);
        let (mut offset_in, mut offset_out) = (at, at);
        match copy_file_range(from, Some(&mut offset_in), to, Some(&mut offset_out), bytes) {
            Err(Errno::INTR) => {}
            Err(errno @ (Errno::NOSPC | Errno::DQUOT | Errno::IO | Errno::FBIG)) => {
                return Err(StorageError::from_errno("copy_file_range")(errno));
            }
            // These two file systems cannot copy in the kernel; some report 0 bytes instead of an error.
            Ok(0) | Err(_) => return copy_by_hand(from, to, at, end, cancelled),
            Ok(copied) => at += copied as u64,
        }
    }
    Ok(())
}

fn copy_by_hand(
    from: &OpenFile,
    to: BorrowedFd<'_>,
    mut at: u64,
    end: u64,
    cancelled: &AtomicBool,
) -> Result<(), StorageError> {
    let mut buffer = PageBuffer::zeroed(1 << 20);
    while at < end {
        if cancelled.load(Ordering::Relaxed) {
            return Err(StorageError::Cancelled);
        }
        let want = usize::try_from(end - at).unwrap_or(usize::MAX).min(buffer.len());
        let read = from.read(at, buffer.get_mut(..want).unwrap_or_default())?;
        if read == 0 {
            // The file became shorter.
            return Err(StorageError::Changed);
        }
        write_all(to, buffer.get(..read).unwrap_or_default(), at)?;
        at += read as u64;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::fs::{self, File};

    use rustix::fd::{AsFd, OwnedFd};
    use weir_dav::digest::Algorithm;

    use super::*;
    use crate::metadata::Found;

    #[test]
    fn a_copy_has_the_checksums_of_its_source_only_if_they_are_of_what_was_copied() {
        let directory = tempfile::tempdir().unwrap();
        let at = directory.path().join("f");
        fs::write(&at, "hello").unwrap();
        let known = || vec![Digest::from_hex(Algorithm::Adler32, b"062c0215").unwrap()];
        let copy = |name: &str, meanwhile: &dyn Fn()| {
            let source = OwnedFd::from(File::open(&at).unwrap());
            let source = OpenFile::new(source.try_clone().unwrap(), &Found::of(&source).unwrap()).unwrap();
            let to = File::create(directory.path().join(name)).unwrap();
            let look = || {
                let digests = known();
                meanwhile();
                Ok(digests)
            };
            copy_with_checksums(&source, to.as_fd(), look, &AtomicBool::new(false)).unwrap()
        };
        assert_eq!(copy("same", &|| {}), known());
        // Another program writes into the file as soon as its checksums were looked up.
        let told = copy("other", &|| fs::write(&at, "another content").unwrap());
        assert_eq!(fs::read(directory.path().join("other")).unwrap(), b"another content");
        assert!(told.is_empty(), "{told:?}");
    }
}
