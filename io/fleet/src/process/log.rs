//! Output of a process: a file that the process writes itself, so that it outlives Weir without a pipe. The
//! file is truncated from time to time.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use crate::storage;

/// Opens the file for the process, in append mode: after a truncation, the output continues at the start.
pub(super) fn open(path: &Path) -> io::Result<File> {
    let file = OpenOptions::new().append(true).create(true).mode(0o600).open(path);
    file.map_err(|cause| storage::named(path, &cause))
}

/// Moves the latest half of the permitted size to a second file and truncates the first, if it is larger than
/// that. Output written at that moment may be lost.
pub(super) fn cut(path: &Path, bytes_max: u64) -> io::Result<()> {
    let half = bytes_max / 2;
    match std::fs::metadata(path) {
        Ok(about) if about.len() > half => {}
        Err(cause) if cause.kind() != io::ErrorKind::NotFound => return Err(storage::named(path, &cause)),
        _ => return Ok(()),
    }
    let mut file = OpenOptions::new().read(true).write(true).open(path)?;
    let tail = tail(&mut file, half)?;
    // A log need not survive a power failure, so it is not synced.
    std::fs::write(path.with_extension("log.1"), tail)?;
    file.set_len(0)
}

/// Returns the latest output, at most `bytes_max` bytes.
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
