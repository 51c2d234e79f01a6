//! Checksums of contents, kept beside the files together with what the file was when they were computed: a file that was
//! changed by another program has none.

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

/// Where StoRM WebDAV and others look for the Adler-32, as 8 hexadecimal digits.
const STORM_ADLER32: &str = "user.storm.checksum.adler32";

/// Bytes that are read at once.
const CHUNK_BYTES: usize = 1 << 20;

/// File systems count time in steps, of two seconds at most (FAT).
const STEP_S: u64 = 2;

/// The checksums of a content, and how to recognise it.
#[derive(Serialize, Deserialize)]
struct Stamp {
    size: u64,
    modified_s: i64,
    modified_ns: u32,
    /// In hexadecimal digits.
    digests: Vec<(Algorithm, String)>,
}

impl Tree {
    /// The checksums that are stored for the content that is open; none if it was changed since they were computed. Blocks.
    /// `path`: where the file was opened.
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

    /// Reads the whole file, computes its checksums and stores them beside those that it has. Blocks, for long. Ends early with
    /// [`StorageError::Cancelled`] when `cancelled` is set. Of a file that was written to within the last two seconds they are not stored:
    /// its size and its time may stay as they are when it is written to once more.
    ///
    /// # Errors
    /// [`StorageError::Changed`] if another program wrote into the file meanwhile. A file that cannot be written to is no
    /// error: its checksums are not stored then.
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
        // They are right, kept or not: on a full disk a file can still be read.
        let _ = store(file, &before, &all, || self.side(path, &before));
        Ok(digests)
    }
}

/// Whether every later change of a content will show in its stamp.
fn is_settled(content: &Metadata) -> bool {
    let now_s = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    // Who gives a file a time that is still to come changes it nevertheless now.
    let last = content.modified.min(content.changed);
    last.unix_s().saturating_add(STEP_S) < now_s
}

/// The checksums that Weir has stored for a content.
pub(crate) fn stored(
    fd: impl AsFd,
    content: &Metadata,
    side: impl FnOnce() -> Result<Side, StorageError>,
) -> Result<Vec<Digest>, StorageError> {
    let text = notes::read(fd, Note::Checksums, side)?;
    Ok(text.map_or_else(Vec::new, |text| read_stamp(&text, content)))
}

fn read_stamp(text: &[u8], content: &Metadata) -> Vec<Digest> {
    // A damaged note is no note: it can be computed again.
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
        // For others only: we have our own. Where there are no attributes, there are no others.
        let _ = fsetxattr(&fd, STORM_ADLER32, adler.to_hex().as_bytes(), XattrFlags::empty());
    }
    let Timestamp { seconds, nanoseconds } = content.modified;
    let digests = digests.iter().map(|digest| (digest.algorithm(), digest.to_hex())).collect();
    let stamp = Stamp { size: content.size, modified_s: seconds, modified_ns: nanoseconds, digests };
    let text = serde_json::to_vec(&stamp).map_err(|_| StorageError::Damaged("checksums"))?;
    notes::write(fd, Note::Checksums, &text, side)
}

/// The digests of a file's content, by reading it.
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
    /// What it says, if it is about this content.
    fn digests_of(self, content: &Metadata) -> Vec<Digest> {
        let modified = Timestamp { seconds: self.modified_s, nanoseconds: self.modified_ns };
        if (self.size, modified) != (content.size, content.modified) {
            return Vec::new();
        }
        let digests = self.digests.iter();
        digests.filter_map(|(algorithm, hex)| Digest::from_hex(*algorithm, hex.as_bytes())).collect()
    }
}
