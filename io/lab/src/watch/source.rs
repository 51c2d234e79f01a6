//! What can be watched.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use super::table::{Change, Column, Row};

/// Why something cannot be watched.
#[derive(Debug, thiserror::Error)]
pub enum WatchError {
    /// A file of the kernel cannot be read.
    #[error("{path}: {cause}")]
    Unreadable {
        /// Which one.
        path: String,
        /// Why.
        cause: io::Error,
    },
    /// Nothing has that name.
    #[error("{0}")]
    Unknown(String),
}

impl WatchError {
    pub(super) fn unreadable(path: &Path) -> impl FnOnce(io::Error) -> Self + '_ {
        move |cause| Self::Unreadable { path: path.display().to_string(), cause }
    }
}

/// A figure that follows from how others have changed.
#[derive(Debug, Clone, Copy)]
pub struct Derived {
    /// With its unit at the end.
    pub name: &'static str,
    /// For people.
    pub help: &'static str,
    /// From two rows.
    pub of: fn(&Change<'_>) -> Option<f64>,
}

/// Something that has figures.
pub trait Source {
    /// What its figures are called all together, as in a file's name.
    fn name(&self) -> &'static str;

    /// The figures themselves.
    fn columns(&self) -> &'static [Column];

    /// What follows from them.
    fn derived(&self) -> &'static [Derived];

    /// As they are now: a row for each thing that is there.
    ///
    /// # Errors
    /// The kernel does not give them.
    fn read(&mut self) -> Result<Vec<Row>, WatchError>;

    /// Of what was asked for by name, what is not there now, in words. It is read from when it comes.
    ///
    /// # Errors
    /// The kernel does not say.
    fn missing(&mut self) -> Result<Vec<String>, WatchError> {
        Ok(Vec::new())
    }

    /// What everybody must know who sees its figures.
    fn note(&self) -> Option<String> {
        None
    }
}

/// Of the names that were asked for those that are not among the ones that are there. `kind`: what they are names of.
pub(super) fn missing(kind: &str, wanted: &[String], there: &[Row]) -> Vec<String> {
    let is_there = |name: &&String| there.iter().any(|row| row.subject == **name);
    let names = match there {
        [] => "none".to_owned(),
        _ => there.iter().map(|row| row.subject.as_str()).collect::<Vec<_>>().join(", "),
    };
    let missing = wanted.iter().filter(|name| !is_there(name));
    missing.map(|name| format!("no {kind} {name:?}: there are {names}")).collect()
}

/// A file of the kernel that is read again and again: opened once.
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

    /// All of it, as it is now.
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

/// A number of the kernel, in a column.
pub(super) fn number(word: Option<&str>) -> Option<f64> {
    word?.parse::<u64>().ok().map(|number| number as f64)
}

/// The number behind a name in lines such as `name: 12 kB` or `name 12`.
pub(super) fn named(text: &str, name: &str) -> Option<f64> {
    text.lines().find_map(|line| {
        let rest = line.strip_prefix(name)?;
        let rest = rest.strip_prefix(':').or_else(|| rest.starts_with([' ', '\t']).then_some(rest))?;
        number(rest.split_whitespace().next())
    })
}
