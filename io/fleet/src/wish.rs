//! The desired state of a fleet: settings of operators with priority over demand.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::storage;

/// Desired state of a fleet, with priority over demand.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Wish {
    /// True if decisions are only shown, not executed; `None` = as configured.
    pub paused: Option<bool>,
    /// Fixed number of servers; `None` = according to demand.
    pub servers: Option<u32>,
}

/// File of the desired state in the fleet's directory, for the next leader and all processes that share the
/// directory.
#[derive(Debug)]
pub struct WishFile {
    path: PathBuf,
    /// True if processes with other directories must be notified of changes.
    is_shared: bool,
    /// True if they were not notified of the present state yet.
    is_untold: bool,
    /// Last state that they are known to have, before the local changes.
    base: Wish,
    /// State as last read or written.
    known: Wish,
    /// True if the file was read or does not exist, so that `known` is up to date.
    is_read: bool,
    version: Option<Version>,
}

/// Content of the file.
#[derive(Serialize, Deserialize)]
struct Written {
    #[serde(flatten)]
    wish: Wish,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    untold: bool,
    /// Last state that the other processes are known to have, if they were not notified yet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    base: Option<Wish>,
}

/// Identity of a file's version: each write creates a new file.
type Version = (u64, i64, i64);

/// Maximum file size.
const BYTES_MAX: u64 = 4_096;

impl Wish {
    /// Merges the local changes since `base` with the state of other processes: a local change has priority.
    fn over(self, base: Self, theirs: Self) -> Self {
        Self {
            paused: if self.paused == base.paused { theirs.paused } else { self.paused },
            servers: if self.servers == base.servers { theirs.servers } else { self.servers },
        }
    }
}

impl WishFile {
    /// Creates the file's handle for a fleet's directory; reads nothing yet.
    pub fn new(directory: &Path) -> Self {
        Self {
            path: directory.join("wish.json"),
            is_shared: false,
            is_untold: false,
            base: Wish::default(),
            known: Wish::default(),
            is_read: false,
            version: None,
        }
    }

    /// Sets `is_shared`: true if processes with other directories must be notified of each change.
    #[must_use]
    pub fn shared(mut self, is_shared: bool) -> Self {
        self.is_shared = is_shared;
        self
    }

    /// Returns true if the desired state has been loaded; it may be absent.
    pub fn is_read(&self) -> bool {
        self.is_read
    }

    /// Returns the present desired state. A state that could not be saved counts until the next change.
    pub fn known(&self) -> Wish {
        self.known
    }

    /// Returns true if other processes must still be notified of the present state.
    pub fn is_untold(&self) -> bool {
        self.is_shared && self.is_untold
    }

    /// Reads the file if another or an earlier process has changed it.
    ///
    /// # Errors
    /// If the file cannot be read. Names the file. The former state still counts, and the next call tries
    /// again.
    pub fn refresh(&mut self) -> io::Result<()> {
        let version = version(&self.path)?;
        if version.is_none() || version == self.version {
            self.is_read = true;
            return Ok(());
        }
        if let Some(text) = storage::read(&self.path, BYTES_MAX)? {
            let written = serde_json::from_slice::<Written>(&text);
            let written = written.map_err(|cause| storage::named(&self.path, &io::Error::other(cause)))?;
            (self.known, self.is_untold) = (written.wish, written.untold);
            self.base = written.base.unwrap_or_default();
        }
        (self.version, self.is_read) = (version, true);
        Ok(())
    }

    /// Sets the desired state, and writes it to disk.
    ///
    /// # Errors
    /// If the file cannot be written, so that the state would be lost at the next restart. Names the file.
    pub fn set(&mut self, wish: Wish) -> io::Result<()> {
        if !self.is_untold() {
            self.base = self.known;
        }
        self.write(wish, self.is_shared)
    }

    /// Processes the state of other processes. Local changes of which they were not notified have priority.
    ///
    /// # Errors
    /// The same as of [`WishFile::set`].
    pub fn heard(&mut self, wish: Wish) -> io::Result<()> {
        if self.is_untold() {
            let both = self.known.over(self.base, wish);
            self.base = wish;
            return self.write(both, both != wish);
        }
        match self.is_read && self.known == wish {
            true => Ok(()),
            false => self.write(wish, false),
        }
    }

    /// Records that other processes were notified of a state.
    ///
    /// # Errors
    /// If the file cannot be written, so that they will be notified again. Names the file.
    pub fn told(&mut self, wish: Wish) -> io::Result<()> {
        if !self.is_untold() {
            return Ok(());
        }
        self.base = wish;
        self.write(self.known, self.known != wish)
    }

    fn write(&mut self, wish: Wish, untold: bool) -> io::Result<()> {
        (self.known, self.is_untold, self.is_read) = (wish, untold, true);
        if let Some(directory) = self.path.parent() {
            storage::make_directory(directory)?;
        }
        let written = Written { wish, untold, base: untold.then_some(self.base) };
        storage::replace(&self.path, &serde_json::to_vec(&written)?)?;
        self.version = version(&self.path)?;
        Ok(())
    }
}

fn version(path: &Path) -> io::Result<Option<Version>> {
    match fs::metadata(path) {
        Ok(about) => Ok(Some((about.ino(), about.mtime(), about.mtime_nsec()))),
        Err(cause) if cause.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(cause) => Err(storage::named(path, &cause)),
    }
}
