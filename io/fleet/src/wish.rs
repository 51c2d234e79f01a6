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
    /// There are others, who must be told of it.
    is_shared: bool,
    /// They were not told yet of what is known here.
    is_untold: bool,
    /// What they wished, as far as it was told or heard, before that.
    base: Wish,
    /// As it was read or written last.
    known: Wish,
    /// The file was read, or is not there: it holds nothing that is not known.
    is_read: bool,
    version: Option<Version>,
}

/// What stands in the file.
#[derive(Serialize, Deserialize)]
struct Written {
    #[serde(flatten)]
    wish: Wish,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    untold: bool,
    /// Of one that is untold: what others wished before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    base: Option<Wish>,
}

/// Which file it is: each wish is a new one.
type Version = (u64, i64, i64);

/// More is no wish.
const BYTES_MAX: u64 = 4_096;

impl Wish {
    /// With what was changed here since `base`, and `theirs` of all else.
    fn over(self, base: Self, theirs: Self) -> Self {
        Self {
            paused: if self.paused == base.paused { theirs.paused } else { self.paused },
            servers: if self.servers == base.servers { theirs.servers } else { self.servers },
        }
    }
}

impl WishFile {
    /// That of the fleet with this directory. Nothing is read yet.
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

    /// Whether others, with directories of their own, must be told of each wish.
    #[must_use]
    pub fn shared(mut self, is_shared: bool) -> Self {
        self.is_shared = is_shared;
        self
    }

    /// Whether it was ever found out what is wished.
    pub fn is_read(&self) -> bool {
        self.is_read
    }

    /// What is wished now. One that cannot be written down counts until the next one is.
    pub fn known(&self) -> Wish {
        self.known
    }

    /// Whether others must be told yet of what is wished here.
    pub fn is_untold(&self) -> bool {
        self.is_shared && self.is_untold
    }

    /// Looks whether somebody else has wished something, or an earlier process.
    ///
    /// # Errors
    /// The file cannot be read; names it. What was known before still counts, and the file is read again the next time.
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

    /// From now on this is wished. It is on disk when this returns.
    ///
    /// # Errors
    /// It is not, and is lost at the next restart; names the file.
    pub fn set(&mut self, wish: Wish) -> io::Result<()> {
        if !self.is_untold() {
            self.base = self.known;
        }
        self.write(wish, self.is_shared)
    }

    /// Others wish this. What was changed here, and they were not told of yet, counts more.
    ///
    /// # Errors
    /// As of [`WishFile::set`].
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

    /// Others were told of this.
    ///
    /// # Errors
    /// It cannot be written down, and they will be told again; names the file.
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
