//! The file with the runtime changes. It is read at the start and locked against other processes.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fs::OFlags;
use weir_control::RuntimeState;

/// A state file in use.
#[derive(Default)]
pub(super) struct StateFile {
    /// Runtime changes from earlier starts.
    pub(super) state: RuntimeState,
    /// Lines for the operator: which changes apply, and which are only kept.
    pub(super) notes: Vec<String>,
    /// Held until the process ends.
    pub(super) lock: Option<File>,
}

/// Maximum number of changes in a note.
const NAMED_MAX: usize = 10;

impl StateFile {
    /// Reads and locks the file for `config`. A missing file counts as empty. Fails if another process uses
    /// the file.
    pub(super) fn open(path: Option<&Path>, config: &Path) -> Result<Self, String> {
        let Some(path) = path else { return Ok(Self::default()) };
        let config = fs::canonicalize(config).unwrap_or_else(|_| config.to_owned());
        let config = config.to_string_lossy();
        let (lock, unlocked) = match lock(path, &config)? {
            Ok(lock) => (Some(lock), None),
            Err(cause) => (None, Some(cause)),
        };
        let failed = |cause: String| format!("state file {}: {cause}", path.display());
        let text = match fs::read_to_string(path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
            Err(error) => return Err(failed(error.to_string())),
        };
        let mut state = RuntimeState::from_text(&text).map_err(|cause| failed(cause.to_string()))?;
        state.belong_to(&config);
        let mut notes = notes(path, &state);
        notes.extend(unlocked.map(|cause| {
            format!(
                "state file {}: another weir with the same file would not be noticed: {cause}",
                path.display()
            )
        }));
        Ok(Self { state, notes, lock })
    }
}

/// Returns notes about the runtime changes that apply and those that do not, because the config shows
/// neither.
fn notes(path: &Path, state: &RuntimeState) -> Vec<String> {
    let mut notes = Vec::new();
    let path_shown = path.display();
    if !state.is_empty() {
        let named: Vec<String> = state
            .iter()
            .take(NAMED_MAX)
            .map(|(pool, server, change)| format!("{pool}/{server}: {change}"))
            .collect();
        let more = state.len().saturating_sub(NAMED_MAX);
        let more = if more > 0 { format!("; {more} more") } else { String::new() };
        notes.push(format!(
            "state file {path_shown}{}: runtime changes apply to {} servers ({}{more}); `weir ctl show runtime` lists them, `weir ctl reset` takes them back",
            age(path),
            state.len(),
            named.join("; ")
        ));
    }
    notes.extend(state.others().map(|(config, servers)| {
        format!(
            "state file {path_shown}: runtime changes of {servers} servers belong to the config {config}; they are kept, and not applied"
        )
    }));
    notes
}

fn age(path: &Path) -> String {
    let age = fs::metadata(path).and_then(|file| file.modified()).ok().and_then(|at| at.elapsed().ok());
    match age.map(|age: Duration| age.as_secs()) {
        Some(seconds) if seconds >= 172_800 => format!(", written {} days ago", seconds / 86_400),
        Some(seconds) if seconds >= 7_200 => format!(", written {} hours ago", seconds / 3_600),
        Some(seconds) => format!(", written {} minutes ago", seconds / 60),
        None => String::new(),
    }
}

/// Locks the state file, because two processes would overwrite each other's changes. The lock is a separate
/// file, because each save replaces the state file.
///
/// The inner error says why there is no lock: the file belongs to another user, or the file system does not
/// support locks.
fn lock(path: &Path, config: &str) -> Result<io::Result<File>, String> {
    let mut name = path.as_os_str().to_owned();
    name.push(".lock");
    let beside = PathBuf::from(name);
    if let Some(directory) = path.parent() {
        // If the directory cannot be created, the next save reports the error.
        let _ = fs::create_dir_all(directory);
    }
    let mut options = OpenOptions::new();
    // The directory may belong to a user. That user could redirect root with a symbolic link.
    options
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .custom_flags(OFlags::NOFOLLOW.bits().cast_signed());
    let mut file = match options.open(&beside) {
        Ok(file) => file,
        Err(cause) => return Ok(Err(cause)),
    };
    match file.try_lock() {
        Ok(()) => {
            let _ =
                file.set_len(0).and_then(|()| write!(file, "pid {}, config {config}", std::process::id()));
            Ok(Ok(file))
        }
        Err(TryLockError::WouldBlock) => {
            let mut holder = String::new();
            // Without the holder, the message is only shorter.
            let _ = file.take(1_000).read_to_string(&mut holder);
            Err(format!(
                "state file {}: in use by another weir ({holder}): give each config a file of its own (state in [weir]), or none (state = false)",
                path.display()
            ))
        }
        Err(TryLockError::Error(cause)) => Ok(Err(cause)),
    }
}
