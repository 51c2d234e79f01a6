//! Reads the config's text: one file, or every `*.toml` of a directory in the order of their names.

use std::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use weir_config::Source;

/// Path that could not be read, with the cause.
#[derive(Debug)]
pub(crate) struct ReadError {
    path: PathBuf,
    cause: io::Error,
}

/// Reads the texts at `path`.
pub(crate) fn read(path: &Path) -> Result<Vec<Source>, ReadError> {
    let failed = |path: &Path| {
        let path = path.to_owned();
        move |cause| ReadError { path, cause }
    };
    if !fs::metadata(path).map_err(failed(path))?.is_dir() {
        return source(path).map(|source| vec![source]);
    }
    let mut files = Vec::new();
    for entry in fs::read_dir(path).map_err(failed(path))? {
        let file = entry.map_err(failed(path))?.path();
        if file.extension().is_some_and(|extension| extension == "toml") && file.is_file() {
            files.push(file);
        }
    }
    files.sort();
    if files.is_empty() {
        let cause = io::Error::new(io::ErrorKind::NotFound, "the directory has no file *.toml");
        return Err(ReadError { path: path.to_owned(), cause });
    }
    files.iter().map(|file| source(file)).collect()
}

fn source(path: &Path) -> Result<Source, ReadError> {
    let failed = |cause| ReadError { path: path.to_owned(), cause };
    let text = utf8(fs::read(path).map_err(failed)?)
        .map_err(|why| failed(io::Error::new(io::ErrorKind::InvalidData, why)))?;
    Ok(Source { name: path.display().to_string(), text })
}

/// Decodes the text of a file, without a byte-order mark at its start.
fn utf8(mut bytes: Vec<u8>) -> Result<String, String> {
    if bytes.starts_with(b"\xff\xfe") || bytes.starts_with(b"\xfe\xff") {
        return Err("this is UTF-16: save it as UTF-8".to_owned());
    }
    if bytes.starts_with(b"\xef\xbb\xbf") {
        bytes.drain(..3);
    }
    String::from_utf8(bytes).map_err(|error| {
        let before = error.utf8_error().valid_up_to();
        let line = error.as_bytes()[..before].iter().filter(|byte| **byte == b'\n').count() + 1;
        format!("line {line}: not UTF-8: save it as UTF-8")
    })
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path.display(), self.cause)
    }
}

impl std::error::Error for ReadError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.cause)
    }
}
