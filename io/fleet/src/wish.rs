use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::storage;

/// What operators want of a fleet, whatever demand says.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Wish {
    /// Whether decisions are only shown; `None` = as the config says.
    pub paused: Option<bool>,
    /// So many servers; `None` = as demand says.
    pub servers: Option<u32>,
}

/// Where a wish is kept: in the fleet's directory, for whoever leads it next, and for all others that share it.
#[derive(Debug)]
pub struct WishFile {
    path: PathBuf,
    /// As it was read or written last.
    known: Wish,
    version: Option<Version>,
}

/// Which file it is: each wish is a new one.
type Version = (u64, i64, i64);

/// More is no wish.
const BYTES_MAX: u64 = 4_096;

impl WishFile {
    /// That of the fleet with this directory. Nothing is read yet.
    pub fn new(directory: &Path) -> Self {
        Self { path: directory.join("wish.json"), known: Wish::default(), version: None }
    }

    /// What is wished now. One that cannot be written down counts until the next one is.
    pub fn known(&self) -> Wish {
        self.known
    }

    /// Looks whether somebody else has wished something, or an earlier process.
    ///
    /// # Errors
    /// The file cannot be read; names it. What was known before still counts.
    pub fn refresh(&mut self) -> io::Result<()> {
        let version = version(&self.path)?;
        if version.is_none() || version == self.version {
            return Ok(());
        }
        // Also if it cannot be read: that is said once.
        self.version = version;
        if let Some(text) = storage::read(&self.path, BYTES_MAX)? {
            let wish = serde_json::from_slice(&text);
            self.known = wish.map_err(|cause| storage::named(&self.path, &io::Error::other(cause)))?;
        }
        Ok(())
    }

    /// From now on this is wished. It is on disk when this returns.
    ///
    /// # Errors
    /// It is not, and is lost at the next restart; names the file.
    pub fn set(&mut self, wish: Wish) -> io::Result<()> {
        self.known = wish;
        if let Some(directory) = self.path.parent() {
            storage::make_directory(directory)?;
        }
        storage::replace(&self.path, &serde_json::to_vec(&wish)?)?;
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
