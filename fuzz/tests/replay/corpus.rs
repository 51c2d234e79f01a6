//! Files that contain one input each.

use std::fs;
use std::path::{Path, PathBuf};

/// A file and its content.
#[derive(Debug, Clone)]
pub(crate) struct InputFile {
    pub(crate) path: PathBuf,
    pub(crate) bytes: Vec<u8>,
}

impl InputFile {
    pub(crate) fn read(path: PathBuf) -> Result<Self, String> {
        match fs::read(&path) {
            Ok(bytes) => Ok(Self { path, bytes }),
            Err(error) => Err(format!("{}: {error}", path.display())),
        }
    }
}

/// Returns the files of a directory, sorted by name, because mutations depend on the order. Returns none if
/// the directory does not exist.
pub(crate) fn paths(directory: &Path) -> Result<Vec<PathBuf>, String> {
    let at = |error| format!("{}: {error}", directory.display());
    let entries = match fs::read_dir(directory) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(at(error)),
    };
    let mut paths = entries.map(|entry| Ok(entry?.path())).collect::<Result<Vec<_>, _>>().map_err(at)?;
    paths.sort();
    Ok(paths)
}

/// Reads the committed inputs of a target.
pub(crate) fn read(directory: &Path) -> Result<Vec<InputFile>, String> {
    let files = paths(directory)?.into_iter().map(InputFile::read).collect::<Result<Vec<_>, _>>()?;
    if files.is_empty() {
        return Err(format!("{}: no file in it; add at least one valid input", directory.display()));
    }
    Ok(files)
}
