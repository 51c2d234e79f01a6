//! The output of a process: a file that it writes to by itself, so that it needs nobody at the other end of a pipe and outlives
//! us, cut to size from time to time.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use crate::storage;

/// Opens it for the process. It appends: what comes after a cut begins at the start.
pub(super) fn open(path: &Path) -> io::Result<File> {
    let file = OpenOptions::new().append(true).create(true).mode(0o600).open(path);
    file.map_err(|cause| storage::named(path, &cause))
}

/// Puts the later half of what is permitted aside and begins anew, if there is more than that. What is written in that
/// moment may be lost.
pub(super) fn cut(path: &Path, bytes_max: u64) -> io::Result<()> {
    let half = bytes_max / 2;
    match std::fs::metadata(path) {
        Ok(about) if about.len() > half => {}
        Err(cause) if cause.kind() != io::ErrorKind::NotFound => return Err(storage::named(path, &cause)),
        _ => return Ok(()),
    }
    let mut file = OpenOptions::new().read(true).write(true).open(path)?;
    let tail = tail(&mut file, half)?;
    // Not synced: a log is not worth it.
    std::fs::write(path.with_extension("log.1"), tail)?;
    file.set_len(0)
}

/// The latest output, at most so many bytes of it.
pub(super) fn latest(path: &Path, bytes_max: u64) -> io::Result<Vec<u8>> {
    let mut all = Vec::new();
    for path in [&path.with_extension("log.1"), path] {
        match File::open(path) {
            Ok(mut file) => all.extend(tail(&mut file, bytes_max)?),
            Err(cause) if cause.kind() == io::ErrorKind::NotFound => {}
            Err(cause) => return Err(storage::named(path, &cause)),
        }
    }
    let surplus = all.len().saturating_sub(usize::try_from(bytes_max).unwrap_or(usize::MAX));
    all.drain(..surplus);
    Ok(all)
}

fn tail(file: &mut File, bytes_max: u64) -> io::Result<Vec<u8>> {
    let length = file.metadata()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(bytes_max)))?;
    let mut tail = Vec::new();
    file.take(bytes_max).read_to_end(&mut tail)?;
    Ok(tail)
}
