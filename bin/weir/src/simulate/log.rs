//! Opens the log that a scenario replays.

use std::fs::File;
use std::io::{self, BufReader};
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;
use weir_config::simulation::{Arrivals, Scenario};

/// Log that is read once for each run.
#[derive(Debug)]
pub(super) struct Log {
    /// Name for messages.
    pub(super) name: String,
    path: PathBuf,
    /// Copy of standard input. The file is removed when this is dropped.
    _kept: Option<NamedTempFile>,
}

impl Log {
    /// Returns the log that a scenario replays, if it replays one.
    pub(super) fn of(scenario: &Scenario) -> Result<Option<Self>, String> {
        let Arrivals::Replay(replay) = &scenario.arrivals else { return Ok(None) };
        if replay.file != Path::new("-") {
            let name = replay.file.display().to_string();
            // Reports a missing file before the first run starts.
            File::open(&replay.file).map_err(|cause| format!("{name}: {cause}"))?;
            return Ok(Some(Self { name, path: replay.file.clone(), _kept: None }));
        }
        let keep = || -> io::Result<NamedTempFile> {
            let mut kept = NamedTempFile::new()?;
            io::copy(&mut io::stdin().lock(), kept.as_file_mut())?;
            Ok(kept)
        };
        let kept = keep().map_err(|cause| format!("standard input: {cause}"))?;
        Ok(Some(Self { name: "standard input".to_owned(), path: kept.path().to_owned(), _kept: Some(kept) }))
    }

    /// Opens the log at its beginning.
    pub(super) fn open(&self) -> Result<BufReader<File>, String> {
        let file = File::open(&self.path).map_err(|cause| format!("{}: {cause}", self.name))?;
        Ok(BufReader::with_capacity(256 << 10, file))
    }
}
