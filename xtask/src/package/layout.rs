//! Copies the files of a package to their paths in a staging directory.

use std::fs;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};

use super::Release;
use crate::command;

/// Destination of each kind of file. The last component of a path may be the file's new name.
pub(super) struct Places {
    pub(super) binary: &'static str,
    pub(super) config: &'static str,
    pub(super) unit: &'static str,
    pub(super) sysusers: &'static str,
    pub(super) logrotate: &'static str,
    /// Completion scripts for bash, zsh and fish.
    pub(super) completions: [&'static str; 3],
    /// Directory for manual pages of section 8.
    pub(super) manual: &'static str,
    /// Directory for documents.
    pub(super) documents: &'static str,
}

/// Copies everything that both kinds of package contain to its place below `into`.
pub(super) fn lay_out(release: &Release, places: &Places, into: &Path) -> Result<(), String> {
    let root = &release.root;
    let packaging = root.join("packaging");
    install_stripped(&release.binary, &into.join(places.binary))?;
    install(&packaging.join("weir.toml"), &into.join(places.config), 0o644)?;
    install(&packaging.join("weir.service"), &into.join(places.unit), 0o644)?;
    install(&packaging.join("weir.sysusers"), &into.join(places.sysusers), 0o644)?;
    install(&packaging.join("weir.logrotate"), &into.join(places.logrotate), 0o644)?;
    for (shell, to) in ["bash", "zsh", "fish"].into_iter().zip(places.completions) {
        let script = command::output(Command::new(&release.binary).args(["completion", shell]).env_clear())?;
        write(&into.join(to), script.as_bytes(), 0o644)?;
    }
    install_gzipped(&packaging.join("weir.8"), &into.join(places.manual).join("weir.8.gz"))?;

    let documents = into.join(places.documents);
    for name in ["README.md", "SECURITY.md"] {
        install(&root.join(name), &documents.join(name), 0o644)?;
    }
    install(&root.join("docs/demo.svg"), &documents.join("docs/demo.svg"), 0o644)?;
    for directory in ["guide", "reference"] {
        install_directory(&root.join("docs").join(directory), &documents.join("docs").join(directory))?;
    }
    Ok(())
}

/// Copies one file and creates its parent directories.
pub(super) fn install(from: &Path, to: &Path, mode: u32) -> Result<(), String> {
    let content = fs::read(from).map_err(|error| format!("{}: {error}", from.display()))?;
    write(to, &content, mode)
}

/// Writes one file and creates its parent directories.
pub(super) fn write(to: &Path, content: &[u8], mode: u32) -> Result<(), String> {
    let failed = |error: std::io::Error| format!("{}: {error}", to.display());
    if let Some(parent) = to.parent() {
        fs::create_dir_all(parent).map_err(failed)?;
    }
    fs::write(to, content).map_err(failed)?;
    fs::set_permissions(to, fs::Permissions::from_mode(mode)).map_err(failed)
}

/// Copies one file, compressed. The result has no timestamp, so equal input gives equal output.
pub(super) fn install_gzipped(from: &Path, to: &Path) -> Result<(), String> {
    let content = fs::read(from).map_err(|error| format!("{}: {error}", from.display()))?;
    let failed = |error: std::io::Error| format!("gzip: {error}");
    let mut gzip = Command::new("gzip")
        .args(["-9", "--no-name", "--stdout"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .map_err(failed)?;
    // Writing everything before reading cannot deadlock: gzip reads on while it compresses, and texts of this
    // size fit into the pipes.
    if let Some(mut stdin) = gzip.stdin.take() {
        stdin.write_all(&content).map_err(failed)?;
    }
    let output = gzip.wait_with_output().map_err(failed)?;
    if !output.status.success() {
        return Err(format!("gzip {}: {}", from.display(), output.status));
    }
    write(to, &output.stdout, 0o644)
}

/// Copies the program without debug information, which the environment may have added
/// (`CARGO_PROFILE_RELEASE_DEBUG`). Copies it unchanged if `strip` is not installed.
fn install_stripped(from: &Path, to: &Path) -> Result<(), String> {
    install(from, to, 0o755)?;
    match Command::new("strip").arg("--strip-debug").arg(to).status() {
        Ok(status) if !status.success() => Err(format!("strip {}: {status}", to.display())),
        Ok(_) | Err(_) => Ok(()),
    }
}

fn install_directory(from: &Path, to: &Path) -> Result<(), String> {
    let failed = |error: std::io::Error| format!("{}: {error}", from.display());
    for entry in fs::read_dir(from).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        if entry.file_type().map_err(failed)?.is_file() {
            install(&entry.path(), &to.join(entry.file_name()), 0o644)?;
        }
    }
    Ok(())
}

/// Makes this directory and its subdirectories readable by all users. A strict umask of the builder must not
/// end up in a package.
pub(super) fn open_directories(directory: &Path) -> Result<(), String> {
    let failed = |error: std::io::Error| format!("{}: {error}", directory.display());
    fs::set_permissions(directory, fs::Permissions::from_mode(0o755)).map_err(failed)?;
    for entry in fs::read_dir(directory).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        if entry.file_type().map_err(failed)?.is_dir() {
            open_directories(&entry.path())?;
        }
    }
    Ok(())
}
