//! Failed inputs, in a directory that is not committed. Every later run replays them first, until they are
//! removed.

use std::fs::{self, File, TryLockError};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use crate::corpus::{InputFile, paths};

/// Prefix of the file name of a [`RunningInput`].
const RUNNING: &str = "running-";

/// Writes a failed input and returns its path.
pub(crate) fn write(directory: &Path, name: &str, input: &[u8]) -> Result<PathBuf, String> {
    let path = directory.join(name);
    let written = fs::create_dir_all(directory).and_then(|()| fs::write(&path, input));
    written.map_err(|error| format!("{}: {error}", path.display()))?;
    Ok(path)
}

/// Reads all failed inputs, including those of libFuzzer. Skips inputs that another process is running now.
pub(crate) fn read(directory: &Path) -> Result<Vec<InputFile>, String> {
    let is_in_use = |path: &Path| {
        is_running_input(path)
            && File::open(path).is_ok_and(|file| matches!(file.try_lock(), Err(TryLockError::WouldBlock)))
    };
    paths(directory)?.into_iter().filter(|path| !is_in_use(path)).map(InputFile::read).collect()
}

fn is_running_input(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(RUNNING))
}

/// A file with the input that runs now, because a stack overflow ends the process before it can write the
/// input. The process keeps the file locked.
pub(crate) struct RunningInput {
    path: PathBuf,
    file: File,
    bytes: usize,
}

impl RunningInput {
    pub(crate) fn create(directory: &Path) -> Result<Self, String> {
        let path = directory.join(format!("{RUNNING}{}", std::process::id()));
        let file = fs::create_dir_all(directory).and_then(|()| {
            let file = File::create(&path)?;
            // Without file locks, another process may replay this file too, which is harmless.
            let _ = file.lock();
            Ok(file)
        });
        let file = file.map_err(|error| format!("{}: {error}", path.display()))?;
        Ok(Self { path, file, bytes: 0 })
    }

    pub(crate) fn set(&mut self, input: &[u8]) -> Result<(), String> {
        let at = |error| format!("{}: {error}", self.path.display());
        self.file.write_all_at(input, 0).map_err(at)?;
        if input.len() < self.bytes {
            self.file.set_len(input.len() as u64).map_err(at)?;
        }
        self.bytes = input.len();
        Ok(())
    }

    /// Removes a passed input that a crashed process left. Keeps other artifacts, because they may fail only
    /// rarely.
    pub(crate) fn remove_if_left_behind(&self, path: &Path) {
        if is_running_input(path) && path != self.path {
            let _ = fs::remove_file(path);
        }
    }
}

impl Drop for RunningInput {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
    }
}
