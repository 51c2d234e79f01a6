//! Saves runtime changes to the state file.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;

use tokio::task::spawn_blocking;

use super::Controller;

impl Controller {
    /// Saves the runtime changes. Returns a note for the operator if that failed.
    pub(super) async fn save(self: &Arc<Self>) -> Option<String> {
        let controller = Arc::clone(self);
        // Runs in its own task, because the client of a command may leave before the file is written.
        let saved = tokio::spawn(async move { controller.save_newest().await });
        saved.await.unwrap_or_default()
    }

    async fn save_newest(&self) -> Option<String> {
        // Saves run one after another, each with the newest state. A save that waited may find that nothing
        // is left to do.
        let mut saved = self.saved_version.lock().await;
        let (path, version, text) = {
            let records = self.records();
            if records.runtime_version == *saved {
                return None;
            }
            (self.state_file.clone()?, records.runtime_version, records.runtime.to_text())
        };
        let target = path.clone();
        let written =
            spawn_blocking(move || replace(&target, &text)).await.unwrap_or_else(|error| Err(error.into()));
        match written {
            Ok(()) => {
                *saved = version;
                None
            }
            Err(error) => {
                let note =
                    format!("runtime state {}: not saved, and lost at a restart: {error}", path.display());
                self.log.line(&note);
                Some(note)
            }
        }
    }
}

/// Replaces the file by `text` atomically and durably.
fn replace(path: &Path, text: &str) -> io::Result<()> {
    let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{}.new", std::process::id()));
    let new = directory.join(name);
    fs::create_dir_all(directory)?;
    let written = (|| {
        let mut file = OpenOptions::new().write(true).create(true).truncate(true).open(&new)?;
        file.write_all(text.as_bytes())?;
        file.sync_all()?;
        fs::rename(&new, path)
    })();
    if written.is_err() {
        // Removes the incomplete file. Its removal may fail; the first error is the one returned.
        let _ = fs::remove_file(&new);
    }
    written?;
    File::open(directory)?.sync_all()
}
