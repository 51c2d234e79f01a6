//! The file of locks. Its first line identifies the log. Each further line holds the changes of one update,
//! so that readers see an update as a whole. Writers append, and readers read what was appended since. A new
//! log with only the remaining locks replaces the file when most changes are out of date.

use std::sync::Arc;

use rustix::fd::OwnedFd;
use rustix::fs::{AtFlags, Mode, OFlags, fsync, ftruncate, openat, unlinkat};
use rustix::io::{Errno, pread};
use serde::{Deserialize, Serialize};
use weir_dav::lock::{LockTable, TableChange};

use super::Known;
use crate::acting::as_self;
use crate::metadata::Found;
use crate::notes::{read_all, read_from, replace_file, write_all};
use crate::{Metadata, StorageError, Tree};

const FILE: &str = "locks.log";

/// File that held the whole table as one text in versions before the log.
const BEFORE: &str = "locks.json";

/// A new log is written when the changes exceed two for each lock plus this number.
const SPARE_CHANGES: usize = 1_000;

const DAMAGED: StorageError = StorageError::Damaged("the file of locks");

/// Position in a log that was read.
#[derive(Debug, Default)]
pub(super) struct Log {
    /// Metadata of the file at that time; `None` = the file did not exist.
    metadata: Option<Metadata>,
    /// First line of the log, which is unique.
    head: String,
    /// Offset of the first byte that was not read.
    end: u64,
    /// Number of changes before `end`.
    changes: usize,
}

/// Content of the first line.
#[derive(Serialize, Deserialize)]
struct Head {
    log: String,
}

impl Log {
    /// Reads the log from the end of `known`; `None` = from its start.
    pub(super) fn read(store: &OwnedFd, known: Option<Known>) -> Result<Known, StorageError> {
        // Opening makes an NFS client check whether the file is still the same; statx does not.
        let Some(file) = open(store, FILE, OFlags::RDONLY)? else {
            return read_before(store, known);
        };
        let metadata = Found::of(&file)?.metadata()?;
        let known = match known {
            Some(known) if known.log.metadata.is_some_and(|of| of.is_same_state(&metadata)) => {
                return Ok(known);
            }
            // Compares heads and not inode numbers: a new log may have the number of a deleted one.
            Some(known) if known.log.end > 0 && known.log.is_continued_in(&file)? => known,
            _ => {
                let head = read_head(&file)?;
                let log = Self { end: head.len() as u64, head, ..Self::default() };
                Known { table: Arc::default(), log }
            }
        };
        let Known { mut table, mut log } = known;
        let rest = read_from(&file, log.end)?;
        for (line, after) in lines(&rest) {
            let changes: Vec<TableChange> = match serde_json::from_slice(line) {
                Ok(changes) => changes,
                // A power failure may leave garbage in place of the last lines, but no valid line after it.
                Err(_) if !lines(after).any(|(line, _)| is_update(line)) => break,
                Err(_) => return Err(DAMAGED),
            };
            log.end += line.len() as u64 + 1;
            log.changes += changes.len();
            changes.into_iter().for_each(|change| Arc::make_mut(&mut table).apply(change));
        }
        log.metadata = Some(metadata);
        Ok(Known { table, log })
    }

    /// Appends changes. The caller holds the guard exclusively and has read the log to its end. Returns the
    /// file if it still has to be synced.
    pub(super) fn append(
        &mut self,
        tree: &Tree,
        store: &OwnedFd,
        table: &LockTable,
        changes: &[TableChange],
    ) -> Result<Option<OwnedFd>, StorageError> {
        let is_full = self.changes + changes.len() > 2 * table.len() + SPARE_CHANGES;
        let file = if self.end == 0 || is_full { None } else { open(store, FILE, OFlags::RDWR)? };
        let Some(file) = file else {
            *self = Self::write_anew(tree, store, table)?;
            return Ok(None);
        };
        let mut text = Vec::new();
        append_line(&mut text, changes)?;
        if Found::of(&file)?.metadata()?.size > self.end {
            // A process that died, or a full disk, left a part of a line.
            ftruncate(&file, self.end).map_err(StorageError::from_errno("ftruncate"))?;
        }
        if let Err(error) = write_all(&file, &text, self.end) {
            let _ = ftruncate(&file, self.end);
            return Err(error);
        }
        self.end += text.len() as u64;
        self.changes += changes.len();
        self.metadata = Some(Found::of(&file)?.metadata()?);
        Ok(Some(file))
    }

    fn write_anew(tree: &Tree, store: &OwnedFd, table: &LockTable) -> Result<Self, StorageError> {
        let mut text = Vec::new();
        append_line(&mut text, &Head { log: tree.new_identity() })?;
        let head = String::from_utf8_lossy(&text).into_owned();
        table.iter().try_for_each(|lock| append_line(&mut text, &[TableChange::Set(lock.clone())]))?;
        as_self(|| replace_file(store, FILE, &text))?;
        fsync(store).map_err(StorageError::from_errno("fsync"))?;
        // The old file is out of date from here on.
        match as_self(|| unlinkat(store, BEFORE, AtFlags::empty())) {
            Ok(()) | Err(Errno::NOENT) => {}
            Err(errno) => return Err(StorageError::from_errno("unlink")(errno)),
        }
        Ok(Self { metadata: None, head, end: text.len() as u64, changes: table.len() })
    }

    /// Returns whether this file has the same first line and is not shorter than what was read.
    fn is_continued_in(&self, file: &OwnedFd) -> Result<bool, StorageError> {
        let is_shorter = Found::of(file)?.metadata()?.size < self.end;
        let mut head = vec![0; self.head.len()];
        let read = pread(file, &mut head[..], 0).map_err(StorageError::from_errno("pread"))?;
        Ok(!is_shorter && read == head.len() && head == self.head.as_bytes())
    }
}

/// Reads the locks that a version before the log has stored; none if there is no such file.
fn read_before(store: &OwnedFd, known: Option<Known>) -> Result<Known, StorageError> {
    let Some(file) = open(store, BEFORE, OFlags::RDONLY)? else {
        return Ok(Known { table: Arc::default(), log: Log::default() });
    };
    let metadata = Found::of(&file)?.metadata()?;
    if let Some(known) = known
        && known.log.metadata.is_some_and(|of| of.is_same_state(&metadata))
    {
        return Ok(known);
    }
    let table: LockTable = serde_json::from_slice(&read_all(&file)?).map_err(|_| DAMAGED)?;
    let log = Log { metadata: Some(metadata), ..Log::default() };
    Ok(Known { table: Arc::new(table), log })
}

/// Opens a file of the reserved directory; `None` if it does not exist.
fn open(store: &OwnedFd, name: &str, flags: OFlags) -> Result<Option<OwnedFd>, StorageError> {
    let flags = flags | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    match as_self(|| openat(store, name, flags, Mode::empty())) {
        Err(Errno::NOENT) => Ok(None),
        opened => opened.map(Some).map_err(StorageError::from_errno("open")),
    }
}

/// Returns the first line with its line feed.
fn read_head(file: &OwnedFd) -> Result<String, StorageError> {
    let mut start = [0; 256];
    let read = pread(file, &mut start[..], 0).map_err(StorageError::from_errno("pread"))?;
    let start = start.get(..read).unwrap_or_default();
    let (line, _) = lines(start).next().ok_or(DAMAGED)?;
    serde_json::from_slice::<Head>(line).map_err(|_| DAMAGED)?;
    let head = start.get(..=line.len()).unwrap_or_default();
    String::from_utf8(head.to_vec()).map_err(|_| DAMAGED)
}

/// Splits a text into its complete lines, each with the text after it.
fn lines(text: &[u8]) -> impl Iterator<Item = (&[u8], &[u8])> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let end = rest.iter().position(|byte| *byte == b'\n')?;
        let line = rest.get(..end)?;
        rest = rest.get(end + 1..)?;
        Some((line, rest))
    })
}

fn is_update(line: &[u8]) -> bool {
    serde_json::from_slice::<Vec<TableChange>>(line).is_ok()
}

fn append_line(text: &mut Vec<u8>, value: &(impl Serialize + ?Sized)) -> Result<(), StorageError> {
    // JSON escapes line feeds in texts.
    serde_json::to_writer(&mut *text, value).map_err(|_| DAMAGED)?;
    text.push(b'\n');
    Ok(())
}
