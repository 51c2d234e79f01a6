//! Small files that are written atomically, also in a power failure.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::Path;

use rustix::fs::{FlockOperation, flock};

/// Replaces a file. Blocks until the disk has stored it.
pub(crate) fn replace(path: &Path, contents: &[u8]) -> io::Result<()> {
    let fresh = path.with_extension("new");
    let write = || {
        let mut file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&fresh)?;
        file.write_all(contents)?;
        file.sync_all()?;
        fs::rename(&fresh, path)?;
        sync_directory_of(path)
    };
    write().map_err(|cause| named(path, &cause))
}

/// Removes a file; succeeds if it does not exist.
pub(crate) fn remove(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(cause) if cause.kind() != io::ErrorKind::NotFound => Err(named(path, &cause)),
        _ => sync_directory_of(path).map_err(|cause| named(path, &cause)),
    }
}

/// Reads a file; `None` = it does not exist. Fails if it has more than `bytes_max` bytes.
pub(crate) fn read(path: &Path, bytes_max: u64) -> io::Result<Option<Vec<u8>>> {
    let file = match File::open(path) {
        Ok(file) => file,
        Err(cause) if cause.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(cause) => return Err(named(path, &cause)),
    };
    let mut contents = Vec::new();
    let read = file.take(bytes_max + 1).read_to_end(&mut contents).map_err(|cause| named(path, &cause))?;
    if read as u64 > bytes_max {
        let cause = io::Error::new(io::ErrorKind::FileTooLarge, format!("has more than {bytes_max} bytes"));
        return Err(named(path, &cause));
    }
    Ok(Some(contents))
}

/// Locks a file until the result is dropped; `None` = another process holds the lock.
pub(crate) fn lock(path: &Path) -> io::Result<Option<File>> {
    let open = || OpenOptions::new().write(true).create(true).truncate(false).mode(0o600).open(path);
    let file = open().map_err(|cause| named(path, &cause))?;
    match flock(&file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(Some(file)),
        Err(rustix::io::Errno::WOULDBLOCK) => Ok(None),
        Err(cause) => Err(named(path, &cause.into())),
    }
}

/// Creates a directory with access for this user only, and its parents.
pub(crate) fn make_directory(path: &Path) -> io::Result<()> {
    fs::DirBuilder::new().recursive(true).mode(0o700).create(path).map_err(|cause| named(path, &cause))
}

/// Syncs the directory of a file, which makes its name durable (fsync(2)).
pub(crate) fn sync_directory_of(path: &Path) -> io::Result<()> {
    match path.parent() {
        Some(directory) => File::open(directory)?.sync_all(),
        None => Ok(()),
    }
}

pub(crate) fn named(path: &Path, cause: &io::Error) -> io::Error {
    io::Error::new(cause.kind(), format!("{}: {cause}", path.display()))
}
