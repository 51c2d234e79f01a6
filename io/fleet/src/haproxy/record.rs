//! What has to be remembered of a HAProxy that is reloaded: which servers it should have, and which of its processes may still work.

use std::collections::BTreeMap;
use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::process::Mark;
use crate::storage;

/// As it was left, in a file of the fleet's directory.
#[derive(Debug)]
pub(super) struct RecordFile {
    path: PathBuf,
    pub(super) record: Record,
    saved: Record,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Record {
    /// By their names.
    pub(super) servers: BTreeMap<String, Listed>,
    /// That answered last.
    pub(super) process: Option<Mark>,
    /// Those before it that have not ended yet: they finish what they have.
    pub(super) earlier: Vec<Earlier>,
    /// The template that HAProxy's configuration was made of, as a hash.
    pub(super) template: Option<u64>,
}

/// A server that HAProxy should have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Listed {
    pub(super) address: SocketAddr,
    pub(super) standing: Standing,
    /// The process that answers has read that it gets nothing new.
    #[serde(default)]
    pub(super) drained_at_start: bool,
    /// It is out of rotation because the process has begun so, and is to be brought into it.
    #[serde(default)]
    pub(super) to_begin: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Standing {
    /// Its check has not passed yet.
    New,
    Ready,
    /// It gets nothing new.
    Drain,
}

/// A process that was reloaded.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Earlier {
    pub(super) process: Mark,
    /// What it knew.
    pub(super) servers: Vec<String>,
}

/// Ten thousand servers have some 2 MB.
const BYTES_MAX: u64 = 64 << 20;

impl Listed {
    pub(super) fn new(address: SocketAddr, standing: Standing) -> Self {
        Self { address, standing, drained_at_start: false, to_begin: false }
    }
}

impl RecordFile {
    /// What was left there; `None` = nothing was.
    ///
    /// # Errors
    /// It cannot be read; names the file.
    pub(super) fn load(directory: &Path, name: &str) -> io::Result<Option<Self>> {
        let path = Self::path(directory, name);
        let Some(text) = storage::read(&path, BYTES_MAX)? else { return Ok(None) };
        let record: Record =
            serde_json::from_slice(&text).map_err(|cause| storage::named(&path, &io::Error::other(cause)))?;
        Ok(Some(Self { path, saved: record.clone(), record }))
    }

    /// A new one; nothing is written yet.
    pub(super) fn empty(directory: &Path, name: &str) -> Self {
        Self { path: Self::path(directory, name), record: Record::default(), saved: Record::default() }
    }

    /// Writes it down, if it has changed.
    ///
    /// # Errors
    /// The disk refuses; names the file.
    pub(super) fn save(&mut self) -> io::Result<()> {
        if self.record != self.saved {
            storage::replace(&self.path, &serde_json::to_vec(&self.record)?)?;
            self.saved = self.record.clone();
        }
        Ok(())
    }

    fn path(directory: &Path, name: &str) -> PathBuf {
        directory.join(format!("{name}.json"))
    }
}

impl Record {
    /// Another process answers now. `known`: servers that the one before had.
    pub(super) fn follow(&mut self, process: Mark, known: Vec<String>) {
        if let Some(before) = self.process.replace(process).filter(|before| *before != process) {
            self.earlier.push(Earlier { process: before, servers: known });
        }
        self.tidy();
    }

    /// Forgets processes that have ended.
    pub(super) fn tidy(&mut self) {
        let now = self.process;
        self.earlier.retain(|earlier| Some(earlier.process) != now && earlier.process.is_alive());
    }

    /// How many processes before this one may still have requests of a server.
    pub(super) fn earlier_with(&self, server: &str) -> u64 {
        let with = |earlier: &&Earlier| earlier.servers.iter().any(|name| name == server);
        self.earlier.iter().filter(with).count() as u64
    }
}
