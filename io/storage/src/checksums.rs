//! Checksums of contents, stored with the size and time that the file had when they were computed. They are
//! invalid once another program has changed the file.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use rustix::fd::AsFd;
use rustix::fs::{XattrFlags, fsetxattr};
use serde::{Deserialize, Serialize};
use weir_dav::digest::{Algorithm, Digest, Hasher};
use weir_dav::path::DavPath;
use weir_net::PageBuffer;

use crate::notes::{self, Note, Side};
use crate::{Metadata, OpenFile, StorageError, Timestamp, Tree};

/// Attribute in which StoRM WebDAV and others store the Adler-32, as 8 hexadecimal digits.
const STORM_ADLER32: &str = "user.storm.checksum.adler32";

/// Bytes in one read.
const CHUNK_BYTES: usize = 1 << 20;

/// Coarsest time step of a file system, in seconds (FAT).
const STEP_S: u64 = 2;

/// Checksums of a content, with the size and time that identify it.
#[derive(Serialize, Deserialize)]
struct Stamp {
    size: u64,
    modified_s: i64,
    modified_ns: u32,
    /// Algorithm and hexadecimal digits of each checksum.
    digests: Vec<(Algorithm, String)>,
}

impl Tree {
    /// Returns the stored checksums of an open file; none if it was changed since they were computed. `path`
    /// is the path by which the file was opened. Blocks.
    pub fn checksums(&self, path: &DavPath, file: &OpenFile) -> Result<Vec<Digest>, StorageError> {
        let now = file.metadata_now()?;
        if let Some(text) = notes::read(file, Note::Checksums, || self.side(path, &now))? {
            return Ok(read_stamp(&text, &now));
        }
        if !self.options().trust_foreign_checksums {
            return Ok(Vec::new());
        }
        let foreign = notes::read_attribute(file.as_fd(), STORM_ADLER32).ok().flatten();
        let digest = foreign.and_then(|hex| Digest::from_hex(Algorithm::Adler32, hex.trim_ascii()));
        Ok(digest.into_iter().collect())
    }

    /// Reads the whole file, computes its checksums and stores them with its other ones. Blocks for a long
    /// time. Fails with [`StorageError::Cancelled`] when `cancelled` is set.
    ///
    /// The checksums of a file that was written within the last two seconds are not stored: another write
    /// might leave its size and time unchanged.
    ///
    /// # Errors
    /// [`StorageError::Changed`] if another program wrote into the file meanwhile. A failure to store the
    /// checksums is no error.
    pub fn compute_checksums(
        &self,
        path: &DavPath,
        file: &OpenFile,
        algorithms: &[Algorithm],
        cancelled: &AtomicBool,
    ) -> Result<Vec<Digest>, StorageError> {
        let before = file.metadata_now()?;
        let is_settled = is_settled(&before);
        let digests = hash(file, algorithms, cancelled)?;
        if !file.metadata_now()?.is_same_version(&before) {
            return Err(StorageError::Changed);
        }
        if !is_settled {
            return Ok(digests);
        }
        let mut all = self.checksums(path, file)?;
        all.retain(|digest| !algorithms.contains(&digest.algorithm()));
        all.extend(digests.iter().cloned());
        // The checksums are right even if they cannot be stored; a file on a full disk stays readable.
        let _ = store(file, &before, &all, || self.side(path, &before));
        Ok(digests)
    }
}

/// Returns whether every later change of a content will show in its size or time.
fn is_settled(content: &Metadata) -> bool {
    let now_s = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    // A file whose time is in the future was nevertheless changed at `changed`.
    let last = content.modified.min(content.changed);
    last.unix_s().saturating_add(STEP_S) < now_s
}

/// Returns the checksums that Weir has stored for a content.
pub(crate) fn stored(
    fd: impl AsFd,
    content: &Metadata,
    side: impl FnOnce() -> Result<Side, StorageError>,
) -> Result<Vec<Digest>, StorageError> {
    let text = notes::read(fd, Note::Checksums, side)?;
    Ok(text.map_or_else(Vec::new, |text| read_stamp(&text, content)))
}

fn read_stamp(text: &[u8], content: &Metadata) -> Vec<Digest> {
    // A damaged note is ignored, because the checksums can be computed again.
    let stamp = serde_json::from_slice(text).ok();
    stamp.map_or_else(Vec::new, |stamp: Stamp| stamp.digests_of(content))
}

/// Stores the checksums of a content that the file is known to have.
pub(crate) fn store(
    fd: impl AsFd,
    content: &Metadata,
    digests: &[Digest],
    side: impl FnOnce() -> Result<Side, StorageError>,
) -> Result<(), StorageError> {
    if let Some(adler) = digests.iter().find(|digest| digest.algorithm() == Algorithm::Adler32) {
        // This copy is for other programs. If attributes are unsupported, they cannot read it anyway.
        let _ = fsetxattr(&fd, STORM_ADLER32, adler.to_hex().as_bytes(), XattrFlags::empty());
    }
    let Timestamp { seconds, nanoseconds } = content.modified;
    let digests = digests.iter().map(|digest| (digest.algorithm(), digest.to_hex())).collect();
    let stamp = Stamp { size: content.size, modified_s: seconds, modified_ns: nanoseconds, digests };
    let text = serde_json::to_vec(&stamp).map_err(|_| StorageError::Damaged("checksums"))?;
    notes::write(fd, Note::Checksums, &text, side)
}

/// Computes the digests of a file by reading it.
pub(crate) fn hash(
    file: &OpenFile,
    algorithms: &[Algorithm],
    cancelled: &AtomicBool,
) -> Result<Vec<Digest>, StorageError> {
    let mut hashers: Vec<_> = algorithms.iter().copied().map(Hasher::new).collect();
    let mut buffer = PageBuffer::zeroed(CHUNK_BYTES);
    let mut offset = 0;
    loop {
        if cancelled.load(Ordering::Relaxed) {
            return Err(StorageError::Cancelled);
        }
        let read = file.read(offset, &mut buffer)?;
        if read == 0 {
            return Ok(hashers.into_iter().map(Hasher::finish).collect());
        }
        let bytes = buffer.get(..read).unwrap_or_default();
        hashers.iter_mut().for_each(|hasher| hasher.update(bytes));
        offset += read as u64;
    }
}

impl Stamp {
    /// Returns the checksums if they belong to this content.
    fn digests_of(self, content: &Metadata) -> Vec<Digest> {
        let modified = Timestamp { seconds: self.modified_s, nanoseconds: self.modified_ns };
        if (self.size, modified) != (content.size, content.modified) {
            return Vec::new();
        }
        let digests = self.digests.iter();
        digests.filter_map(|(algorithm, hex)| Digest::from_hex(*algorithm, hex.as_bytes())).collect()
    }
}
