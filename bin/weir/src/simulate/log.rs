use std::fs::File;
use std::io::{self, BufReader};
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;
use weir_config::simulation::{Arrivals, Scenario};

/// A log that is read once for each run.
#[derive(Debug)]
pub(super) struct Log {
    /// What messages call it.
    pub(super) name: String,
    path: PathBuf,
    /// What came through standard input; the file goes when this goes.
    _kept: Option<NamedTempFile>,
}

impl Log {
    /// The one that a scenario replays, if it does.
    pub(super) fn of(scenario: &Scenario) -> Result<Option<Self>, String> {
        let Arrivals::Replay(replay) = &scenario.arrivals else { return Ok(None) };
        if replay.file != Path::new("-") {
            let name = replay.file.display().to_string();
            // Now rather than in the midst of everything.
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

    /// From its beginning.
    pub(super) fn open(&self) -> Result<BufReader<File>, String> {
        let file = File::open(&self.path).map_err(|cause| format!("{}: {cause}", self.name))?;
        Ok(BufReader::with_capacity(256 << 10, file))
    }
}
