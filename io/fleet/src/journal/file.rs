//! The journal file.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use super::entry::{Entry, Event};
use super::{Action, Intent, Outcome};
use crate::storage;

/// An open journal. Only the process that holds the [`Lease`](crate::Lease) may open it.
#[derive(Debug)]
pub struct Journal {
    path: PathBuf,
    file: File,
    /// Size of the file, which consists of whole lines.
    length: u64,
    epoch: u64,
    next: u64,
    open: BTreeMap<u64, Intent>,
    damaged: Option<PathBuf>,
    /// True if a line may be incomplete; nothing may follow it.
    broken: bool,
}

/// Size from which completed actions are removed, when the journal is opened and between actions. The history
/// keeps them.
const BYTES_BEFORE_COMPACTION: u64 = 1 << 20;

/// Maximum size; compaction keeps a journal far smaller, so a larger file is not a journal.
const BYTES_MAX: u64 = 64 << 20;

impl Journal {
    /// Opens or creates the journal at `path` for the process that holds the lease of `epoch`. Removes an
    /// incomplete last line, because its action was never executed. Moves an unreadable journal to another
    /// path ([`Self::damaged`]).
    pub fn open(path: &Path, epoch: u64) -> io::Result<Self> {
        let contents = match storage::read(path, BYTES_MAX) {
            Err(cause) if cause.kind() != io::ErrorKind::FileTooLarge => return Err(cause),
            Err(_) => None,
            Ok(contents) => Some(contents.unwrap_or_default()),
        };
        let mut past = Past::default();
        let whole = contents.is_some_and(|contents| past.read(&contents));
        let mut damaged = None;
        if !whole {
            let aside = path.with_extension("damaged");
            std::fs::rename(path, &aside).map_err(|cause| storage::named(path, &cause))?;
            damaged = Some(aside);
        }
        // Rewriting also ends the file with a whole line.
        let (file, length) = rewrite(path, epoch, past.next, &past.open)?;
        let Past { next, open } = past;
        Ok(Self { path: path.to_owned(), file, length, epoch, next, open, damaged, broken: false })
    }

    /// Returns the path to which an unreadable journal was moved, if there was one.
    pub fn damaged(&self) -> Option<&Path> {
        self.damaged.as_deref()
    }

    /// Returns the actions without a recorded end, oldest first.
    pub fn open_intents(&self) -> impl Iterator<Item = &Intent> {
        self.open.values()
    }

    /// Writes the intended actions to disk, with one sync for all. They may be executed when this returns.
    ///
    /// # Errors
    /// If the actions cannot be written. They must not be executed.
    pub fn begin(
        &mut self,
        at_ms: u64,
        actions: impl IntoIterator<Item = Action>,
    ) -> io::Result<Vec<Intent>> {
        let numbered = (self.next..).zip(actions);
        let intents: Vec<_> = numbered.map(|(seq, action)| Intent { seq, at_ms, action }).collect();
        let lines = intents.iter().map(|intent| (intent.seq, Event::Begin(intent.action.clone())));
        self.append(at_ms, lines)?;
        self.next += intents.len() as u64;
        self.open.extend(intents.iter().map(|intent| (intent.seq, intent.clone())));
        Ok(intents)
    }

    /// Records the results of actions. If that fails, they stay open and are settled later.
    pub fn end(&mut self, at_ms: u64, ends: impl IntoIterator<Item = (u64, Outcome)>) -> io::Result<()> {
        let ends: Vec<_> = ends.into_iter().filter(|(seq, _)| self.open.contains_key(seq)).collect();
        if ends.is_empty() {
            return Ok(());
        }
        let seqs: Vec<_> = ends.iter().map(|(seq, _)| *seq).collect();
        self.append(at_ms, ends.into_iter().map(|(seq, outcome)| (seq, Event::End(outcome))))?;
        for seq in seqs {
            self.open.remove(&seq);
        }
        if self.length > BYTES_BEFORE_COMPACTION {
            self.compact()?;
        }
        Ok(())
    }

    fn append(&mut self, at_ms: u64, events: impl Iterator<Item = (u64, Event)>) -> io::Result<()> {
        if self.broken {
            self.compact()?;
        }
        let mut lines = Vec::new();
        for (seq, event) in events {
            push(&mut lines, &Entry { seq, at_ms, epoch: self.epoch, event })?;
        }
        let written = self.file.write_all(&lines).and_then(|()| self.file.sync_data());
        if let Err(cause) = written {
            self.broken = true;
            return Err(storage::named(&self.path, &cause));
        }
        self.length += lines.len() as u64;
        Ok(())
    }

    fn compact(&mut self) -> io::Result<()> {
        let (file, length) = rewrite(&self.path, self.epoch, self.next, &self.open)?;
        self.file = file;
        self.length = length;
        self.broken = false;
        Ok(())
    }
}

/// Content of a journal.
struct Past {
    next: u64,
    open: BTreeMap<u64, Intent>,
}

impl Default for Past {
    fn default() -> Self {
        Self { next: 1, open: BTreeMap::new() }
    }
}

impl Past {
    /// Reads all whole lines. Returns false if one is invalid.
    fn read(&mut self, contents: &[u8]) -> bool {
        let whole = contents.iter().rposition(|&byte| byte == b'\n').map_or(0, |at| at + 1);
        for line in contents[..whole].split(|&byte| byte == b'\n').filter(|line| !line.is_empty()) {
            let Ok(Entry { seq, at_ms, event, .. }) = serde_json::from_slice(line) else { return false };
            match event {
                Event::Begin(action) => {
                    self.open.insert(seq, Intent { seq, at_ms, action });
                }
                Event::End(_) => {
                    self.open.remove(&seq);
                }
            }
            self.next = self.next.max(seq.saturating_add(1));
        }
        true
    }
}

/// Writes a journal with only the open actions. An end without a beginning keeps the last sequence number.
fn rewrite(path: &Path, epoch: u64, next: u64, open: &BTreeMap<u64, Intent>) -> io::Result<(File, u64)> {
    let mut lines = Vec::new();
    if next > 1 && !open.contains_key(&(next - 1)) {
        let event = Event::End(Outcome::Abandoned);
        push(&mut lines, &Entry { seq: next - 1, at_ms: 0, epoch, event })?;
    }
    for Intent { seq, at_ms, action } in open.values() {
        let event = Event::Begin(action.clone());
        push(&mut lines, &Entry { seq: *seq, at_ms: *at_ms, epoch, event })?;
    }
    storage::replace(path, &lines)?;
    let file = OpenOptions::new().append(true).mode(0o600).open(path);
    Ok((file.map_err(|cause| storage::named(path, &cause))?, lines.len() as u64))
}

fn push(lines: &mut Vec<u8>, entry: &Entry) -> io::Result<()> {
    serde_json::to_writer(&mut *lines, entry)?;
    lines.push(b'\n');
    Ok(())
}
