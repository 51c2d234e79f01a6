//! Interface of the sources that can be watched.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use super::table::{Change, Column, Row};

/// Reason why something cannot be watched.
#[derive(Debug, thiserror::Error)]
pub enum WatchError {
    /// A file of the kernel cannot be read.
    #[error("{path}: {cause}")]
    Unreadable {
        /// Path of the file.
        path: String,
        /// Cause.
        cause: io::Error,
    },
    /// A name is unknown.
    #[error("{0}")]
    Unknown(String),
}

impl WatchError {
    pub(super) fn unreadable(path: &Path) -> impl FnOnce(io::Error) -> Self + '_ {
        move |cause| Self::Unreadable { path: path.display().to_string(), cause }
    }
}

/// Figure computed from the changes of others.
#[derive(Debug, Clone, Copy)]
pub struct Derived {
    /// Name, with the unit at the end.
    pub name: &'static str,
    /// Description for people.
    pub help: &'static str,
    /// Computes the figure from two rows.
    pub of: fn(&Change<'_>) -> Option<f64>,
}

/// Source of figures.
pub trait Source {
    /// Returns the name of the source, as in a file name.
    fn name(&self) -> &'static str;

    /// Returns the columns.
    fn columns(&self) -> &'static [Column];

    /// Returns the derived figures.
    fn derived(&self) -> &'static [Derived];

    /// Reads the present figures: a row per existing subject.
    ///
    /// # Errors
    /// If the kernel does not provide them.
    fn read(&mut self) -> Result<Vec<Row>, WatchError>;

    /// Returns messages about subjects that were selected by name but do not exist now. They are read as soon
    /// as they exist.
    ///
    /// # Errors
    /// If the kernel does not provide the names.
    fn missing(&mut self) -> Result<Vec<String>, WatchError> {
        Ok(Vec::new())
    }

    /// Returns a note that every reader of the figures must know.
    fn note(&self) -> Option<String> {
        None
    }
}

/// Returns messages about selected names that do not exist. `kind` says what the names denote.
pub(super) fn missing(kind: &str, wanted: &[String], there: &[Row]) -> Vec<String> {
    let is_there = |name: &&String| there.iter().any(|row| row.subject == **name);
    let names = match there {
        [] => "none".to_owned(),
        _ => there.iter().map(|row| row.subject.as_str()).collect::<Vec<_>>().join(", "),
    };
    let missing = wanted.iter().filter(|name| !is_there(name));
    missing.map(|name| format!("no {kind} {name:?}: there are {names}")).collect()
}

/// File of the kernel that is opened once and read repeatedly.
#[derive(Debug)]
pub(super) struct KernelFile {
    path: PathBuf,
    file: File,
    text: Vec<u8>,
}

impl KernelFile {
    pub(super) fn open(path: impl Into<PathBuf>) -> Result<Self, WatchError> {
        let path = path.into();
        let file = File::open(&path).map_err(WatchError::unreadable(&path))?;
        Ok(Self { path, file, text: vec![0; 4096] })
    }

    /// Reads the whole present content.
    pub(super) fn read(&mut self) -> Result<&str, WatchError> {
        use std::os::unix::fs::FileExt;
        let mut filled = 0;
        loop {
            if filled == self.text.len() {
                self.text.resize(filled * 2, 0);
            }
            match self.file.read_at(&mut self.text[filled..], filled as u64) {
                Ok(0) => break,
                Ok(read) => filled += read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(cause) => return Err(WatchError::unreadable(&self.path)(cause)),
            }
        }
        let not_text = |cause| io::Error::new(io::ErrorKind::InvalidData, cause);
        std::str::from_utf8(&self.text[..filled])
            .map_err(not_text)
            .map_err(WatchError::unreadable(&self.path))
    }
}

/// Parses a number of the kernel.
pub(super) fn number(word: Option<&str>) -> Option<f64> {
    word?.parse::<u64>().ok().map(|number| number as f64)
}

/// Returns the number after a name in lines such as `name: 12 kB` or `name 12`.
pub(super) fn named(text: &str, name: &str) -> Option<f64> {
    text.lines().find_map(|line| {
        let rest = line.strip_prefix(name)?;
        let rest = rest.strip_prefix(':').or_else(|| rest.starts_with([' ', '\t']).then_some(rest))?;
        number(rest.split_whitespace().next())
    })
}
