//! Records of the processes, in a file each, which outlive Weir.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fs::{FlockOperation, flock};
use serde::{Deserialize, Serialize};

use super::procfs::Mark;
use crate::{Token, storage};

/// Record of a machine and its process.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Record {
    pub(super) token: Token,
    pub(super) port: u16,
    /// Time of creation, in seconds since 1970.
    pub(super) created_s: u64,
    pub(super) wanted: Wanted,
    /// True if the process ended by itself and is not restarted.
    pub(super) given_up: bool,
    /// Description of the last end.
    pub(super) last_end: Option<String>,
    /// Restarts in a row.
    pub(super) restarts: u32,
    /// Id of the boot to which `life` belongs.
    pub(super) boot: String,
    pub(super) life: Life,
}

/// State until the next boot. Times are in milliseconds since boot.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(super) struct Life {
    pub(super) process: Option<Mark>,
    pub(super) started_ms: u64,
    /// True if the process was asked to end.
    pub(super) asked: bool,
    /// Time from which the process is killed.
    pub(super) end_by_ms: Option<u64>,
    /// Earliest time of the restart.
    pub(super) restart_at_ms: Option<u64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Wanted {
    Running,
    Stopped,
    Gone,
}

/// The files of the records.
#[derive(Debug)]
pub(super) struct Records {
    machines: PathBuf,
    logs: PathBuf,
}

const BYTES_MAX: u64 = 64 * 1024;

const LOCK_TRIES: u32 = 5;
const LOCK_PAUSE: Duration = Duration::from_millis(2);

impl Records {
    pub(super) fn open(directory: &Path) -> io::Result<Self> {
        let records = Self { machines: directory.join("machines"), logs: directory.join("logs") };
        storage::make_directory(&records.machines)?;
        storage::make_directory(&records.logs)?;
        Ok(records)
    }

    pub(super) fn load(&self, boot: &str) -> io::Result<Vec<Record>> {
        let mut all = Vec::new();
        for entry in
            std::fs::read_dir(&self.machines).map_err(|cause| storage::named(&self.machines, &cause))?
        {
            let path = entry?.path();
            if path.extension().is_none_or(|extension| extension != "json") {
                continue;
            }
            let Some(contents) = storage::read(&path, BYTES_MAX)? else { continue };
            let mut record: Record =
                serde_json::from_slice(&contents).map_err(|cause| storage::named(&path, &cause.into()))?;
            if record.boot != boot {
                record.boot = boot.to_owned();
                record.life = Life::default();
            }
            all.push(record);
        }
        Ok(all)
    }

    pub(super) fn save(&self, record: &Record) -> io::Result<()> {
        let contents = serde_json::to_vec(record)?;
        storage::replace(&self.path(&record.token), &contents)
    }

    /// Removes a machine's files. The record goes last, because files without a record are never removed.
    pub(super) fn remove(&self, token: &Token) -> io::Result<()> {
        let log = self.log(token);
        storage::remove(&log.with_extension("log.1"))?;
        storage::remove(&log)?;
        storage::remove(&self.lock_of(token))?;
        storage::remove(&self.path(token))
    }

    /// Locks an empty file, which the process of a machine holds from its start. The lock is the earliest
    /// sign of a process. `None` = another process holds it.
    pub(super) fn lock(&self, token: &Token) -> io::Result<Option<File>> {
        let path = self.lock_of(token);
        let open =
            OpenOptions::new().read(true).write(true).create(true).truncate(false).mode(0o600).open(&path);
        let file = open.map_err(|cause| storage::named(&path, &cause))?;
        for _ in 0..LOCK_TRIES {
            match flock(&file, FlockOperation::NonBlockingLockExclusive) {
                Ok(()) => return Ok(Some(file)),
                // A program that another thread is starting briefly has a copy of each descriptor.
                Err(rustix::io::Errno::WOULDBLOCK) => std::thread::sleep(LOCK_PAUSE),
                Err(cause) => return Err(storage::named(&path, &cause.into())),
            }
        }
        Ok(None)
    }

    fn lock_of(&self, token: &Token) -> PathBuf {
        self.machines.join(format!("{token}.lock"))
    }

    pub(super) fn log(&self, token: &Token) -> PathBuf {
        self.logs.join(format!("{token}.log"))
    }

    fn path(&self, token: &Token) -> PathBuf {
        self.machines.join(format!("{token}.json"))
    }
}
