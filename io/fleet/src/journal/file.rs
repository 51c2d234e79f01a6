use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use super::entry::{Entry, Event};
use super::{Action, Intent, Outcome};
use crate::storage;

/// An open journal. Of two processes only the one that holds the [`Lease`](crate::Lease) may have it open.
#[derive(Debug)]
pub struct Journal {
    path: PathBuf,
    file: File,
    /// Bytes in the file, all of them whole lines.
    length: u64,
    epoch: u64,
    next: u64,
    open: BTreeMap<u64, Intent>,
    damaged: Option<PathBuf>,
    /// A line may have been written in part: nothing may follow it.
    broken: bool,
}

/// Beyond this the ended actions are left out: at the opening, and between actions. Their history is kept elsewhere.
const BYTES_BEFORE_COMPACTION: u64 = 1 << 20;

/// Compaction keeps it far below; more is something else.
const BYTES_MAX: u64 = 64 << 20;

impl Journal {
    /// Opens or begins the journal at `path` for the process that holds the lease of `epoch`. A last line that is not whole
    /// was never acted upon, and is cut off. What cannot be read otherwise is put aside ([`Self::damaged`]).
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
        // Rewriting also gives the file a clean end.
        let (file, length) = rewrite(path, epoch, past.next, &past.open)?;
        let Past { next, open } = past;
        Ok(Self { path: path.to_owned(), file, length, epoch, next, open, damaged, broken: false })
    }

    /// Where what could not be read was put, if there was anything.
    pub fn damaged(&self) -> Option<&Path> {
        self.damaged.as_deref()
    }

    /// Actions that were begun and have no end, oldest first.
    pub fn open_intents(&self) -> impl Iterator<Item = &Intent> {
        self.open.values()
    }

    /// Writes that these actions are going to be done; they may be done when this returns. One wait for the disk for all of them.
    ///
    /// # Errors
    /// They must not be done.
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

    /// Writes how actions have ended. If that fails they stay open, and are settled later.
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

/// What a journal's text says.
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
    /// Whether all of it, up to a last line that is not whole, could be read.
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

/// Writes a journal of nothing but what is open. The last ended number is kept by an end without a beginning.
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
