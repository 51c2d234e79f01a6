//! Search for the programs of commands.

use std::ffi::OsString;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// Returns the path of a command's program, if it exists and is executable. A relative path starts at
/// `beside`.
pub(crate) fn find(program: &str, beside: &Path) -> Result<PathBuf, String> {
    let runs = |path: &PathBuf| {
        path.metadata().is_ok_and(|about| about.is_file() && about.permissions().mode() & 0o111 != 0)
    };
    let found = if program.contains('/') {
        Some(beside.join(program)).filter(runs)
    } else {
        let path = std::env::var_os("PATH").unwrap_or_else(|| OsString::from("/usr/bin:/bin"));
        std::env::split_paths(&path).map(|directory| directory.join(program)).find(runs)
    };
    found.ok_or_else(|| format!("{program}: no such program"))
}
