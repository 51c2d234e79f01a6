//! Checks the files and directories that a config names, except those of TLS.

use std::fs::File;
use std::io::{ErrorKind, Read};
use std::path::Path;

use weir_config::plan::LogTarget;
use weir_config::{Diagnostic, Loaded};
use weir_model::BindAddress;

/// Largest file that is read: an error page is never larger than 1 MiB.
const FILE_BYTES_MAX: u64 = 1 << 20;

/// Reads a file that the config names as text.
pub(super) fn read(path: &Path) -> Result<String, String> {
    let mut text = String::new();
    let mut file = File::open(path).map_err(|cause| cause.to_string())?;
    if !file.metadata().is_ok_and(|metadata| metadata.is_file()) {
        return Err("not a regular file".to_owned());
    }
    // Reads one byte more than the limit, which shows that the file is too large.
    file.by_ref().take(FILE_BYTES_MAX + 1).read_to_string(&mut text).map_err(|cause| cause.to_string())?;
    Ok(text)
}

/// Returns the reason why a directory is missing, as far as this user can see it.
fn missing(directory: &Path) -> Option<String> {
    match std::fs::metadata(directory) {
        Ok(found) if found.is_dir() => None,
        Err(cause) if cause.kind() == ErrorKind::PermissionDenied => {
            Some(format!("{}: {cause}", directory.display()))
        }
        _ => Some(format!("there is no directory {}", directory.display())),
    }
}

/// Reports missing directories, and an access log that is a directory.
pub(super) fn check(loaded: &Loaded) -> Vec<Diagnostic> {
    let plan = &loaded.plan;
    let mut found = Vec::new();
    if let Some(control) = &plan.process.control
        && let Some(directory) = control.parent()
        // Weir creates the directory of the control socket when it starts, but not the directories above it.
        && missing(directory).is_some()
        && let Some(why) = directory.parent().and_then(missing)
    {
        found.push(loaded.error_at(&["weir", "control"], format!("weir.control: {why}")));
    }
    let key = ["access-log", "to"];
    match plan.access_log.as_ref().map(|log| &log.target) {
        Some(LogTarget::File(path)) if path.is_dir() => {
            found.push(loaded.error_at(&key, format!("access-log.to: {} is a directory", path.display())));
        }
        Some(LogTarget::File(path)) => {
            if let Some(why) = path.parent().and_then(missing) {
                found.push(loaded.error_at(&key, format!("access-log.to: {why}")));
            }
        }
        Some(LogTarget::Syslog { address: BindAddress::Unix(path), .. }) if !path.exists() => {
            let message = format!("access-log.to: there is no socket {}", path.display());
            found.push(loaded.warning_at(&key, message));
        }
        _ => {}
    }
    found
}
