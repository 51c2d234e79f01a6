//! Persistent record for a HAProxy that is reloaded: the servers that it should have, and its processes that
//! may still work.

use std::collections::BTreeMap;
use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::process::Mark;
use crate::storage;

/// The record, in a file of the fleet's directory.
#[derive(Debug)]
pub(super) struct RecordFile {
    path: PathBuf,
    pub(super) record: Record,
    saved: Record,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Record {
    /// Servers by name.
    pub(super) servers: BTreeMap<String, Listed>,
    /// The process that answered last.
    pub(super) process: Option<Mark>,
    /// Earlier processes that have not ended yet and finish their requests.
    pub(super) earlier: Vec<Earlier>,
    /// Hash of the template of HAProxy's configuration.
    pub(super) template: Option<u64>,
}

/// A server that HAProxy should have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Listed {
    pub(super) address: SocketAddr,
    pub(super) standing: Standing,
    /// True if the present process started with this server in drain state.
    #[serde(default)]
    pub(super) drained_at_start: bool,
    /// True if the server is out of rotation because the process started that way, and must be put into
    /// rotation.
    #[serde(default)]
    pub(super) to_begin: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Standing {
    /// The health check has not passed yet.
    New,
    Ready,
    /// The server gets no new requests.
    Drain,
}

/// A process that was reloaded.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Earlier {
    pub(super) process: Mark,
    /// Servers that it had.
    pub(super) servers: Vec<String>,
}

/// Maximum file size; ten thousand servers take about 2 MB.
const BYTES_MAX: u64 = 64 << 20;

impl Listed {
    pub(super) fn new(address: SocketAddr, standing: Standing) -> Self {
        Self { address, standing, drained_at_start: false, to_begin: false }
    }
}

impl RecordFile {
    /// Loads the record; `None` = there is no file.
    ///
    /// # Errors
    /// If the file cannot be read. Names the file.
    pub(super) fn load(directory: &Path, name: &str) -> io::Result<Option<Self>> {
        let path = Self::path(directory, name);
        let Some(text) = storage::read(&path, BYTES_MAX)? else { return Ok(None) };
        let record: Record =
            serde_json::from_slice(&text).map_err(|cause| storage::named(&path, &io::Error::other(cause)))?;
        Ok(Some(Self { path, saved: record.clone(), record }))
    }

    /// Creates an empty record; writes no file.
    pub(super) fn empty(directory: &Path, name: &str) -> Self {
        Self { path: Self::path(directory, name), record: Record::default(), saved: Record::default() }
    }

    /// Writes the record if it has changed.
    ///
    /// # Errors
    /// If the file cannot be written. Names the file.
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
    /// Records that another process answers now. `known` lists the servers of the previous one.
    pub(super) fn follow(&mut self, process: Mark, known: Vec<String>) {
        if let Some(before) = self.process.replace(process).filter(|before| *before != process) {
            self.earlier.push(Earlier { process: before, servers: known });
        }
        self.tidy();
    }

    /// Removes processes that have ended.
    pub(super) fn tidy(&mut self) {
        let now = self.process;
        self.earlier.retain(|earlier| Some(earlier.process) != now && earlier.process.is_alive());
    }

    /// Returns the number of earlier processes that may still have requests for a server.
    pub(super) fn earlier_with(&self, server: &str) -> u64 {
        let with = |earlier: &&Earlier| earlier.servers.iter().any(|name| name == server);
        self.earlier.iter().filter(with).count() as u64
    }
}
