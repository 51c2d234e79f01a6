//! Runs cargo-deny when the dependencies or its rules have changed since it last passed.
//!
//! Compiling cargo-deny takes a minute on a fresh machine. Its verdict depends only on its version,
//! `Cargo.lock`, the manifests and `deny.toml`. `deny.passed` holds a digest of these inputs and is written
//! when cargo-deny passes. A commit that changes an input must include the new `deny.passed`.

use std::fs;
use std::path::{Path, PathBuf};

use crate::arguments::Arguments;
use crate::command;
use crate::content::fnv1a;

/// Version that is compiled once into Cargo's own `bin` directory.
const VERSION: &str = "0.20.2";

/// File with the digest of the inputs with which cargo-deny last passed.
const PASSED: &str = "deny.passed";

/// Runs `cargo deny`, unless `deny.passed` shows that it has passed with the same dependencies and rules.
///
/// # Errors
/// Those of [`check`].
pub(super) fn check_if_changed(root: &Path) -> Result<(), String> {
    let passed = fs::read_to_string(root.join(PASSED)).unwrap_or_default();
    if passed.trim() == digest(root)? {
        println!("dependencies: as when cargo-deny passed ({PASSED})");
        return Ok(());
    }
    check(root)
}

/// Runs the command `deny [--advisories]`.
///
/// # Errors
/// Those of [`check`]. With `--advisories`, also if a dependency has a known vulnerability or the advisories
/// cannot be downloaded.
pub(crate) fn run(root: &Path, mut arguments: Arguments) -> Result<(), String> {
    let advisories = arguments.flag("--advisories");
    arguments.finish()?;
    match advisories {
        false => check(root),
        true => {
            install()?;
            command::run(command::cargo().current_dir(root).args(["deny", "check", "advisories"]))
        }
    }
}

/// Runs `cargo deny check bans licenses sources` and records in `deny.passed` that it passed. Installs
/// cargo-deny first if it is missing.
///
/// # Errors
/// If cargo-deny cannot be installed or run, or finds a problem, or if `deny.passed` cannot be written.
fn check(root: &Path) -> Result<(), String> {
    install()?;
    let arguments = ["deny", "--log-level", "error", "check", "bans", "licenses", "sources"];
    command::run(command::cargo().current_dir(root).args(arguments))?;
    let path = root.join(PASSED);
    let line = digest(root)? + "\n";
    if fs::read_to_string(&path).unwrap_or_default() != line {
        fs::write(&path, line).map_err(|error| format!("{}: {error}", path.display()))?;
        println!("dependencies: cargo-deny passed: commit {PASSED} with the change");
    }
    Ok(())
}

/// Compiles cargo-deny, unless this version is installed.
fn install() -> Result<(), String> {
    let installed = command::output(command::cargo().args(["deny", "--version"])).unwrap_or_default();
    if installed.trim() == format!("cargo-deny {VERSION}") {
        return Ok(());
    }
    let package = format!("cargo-deny@{VERSION}");
    command::run(command::cargo().args(["install", "--locked", "--debug", &package]))
}

/// Returns the digest of everything that cargo-deny's verdict depends on, as 16 hexadecimal digits.
fn digest(root: &Path) -> Result<String, String> {
    let mut all = VERSION.as_bytes().to_vec();
    for path in inputs(root)? {
        let content = fs::read(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        // The length marks where one file ends and the next begins.
        all.extend_from_slice(&content.len().to_le_bytes());
        all.extend_from_slice(&content);
    }
    Ok(format!("{:016x}", fnv1a(&all)))
}

/// Returns the paths of `deny.toml`, `Cargo.lock` and the manifests of the workspace, in a fixed order.
fn inputs(root: &Path) -> Result<Vec<PathBuf>, String> {
    let mut found = ["deny.toml", "Cargo.lock"].map(|name| root.join(name)).to_vec();
    let mut manifests = Vec::new();
    for group in ["bin", "logic", "io", "tests", "."] {
        let directory = root.join(group);
        let entries =
            fs::read_dir(&directory).map_err(|error| format!("{}: {error}", directory.display()))?;
        for entry in entries {
            let path = entry.map_err(|error| format!("{}: {error}", directory.display()))?.path();
            manifests.push(path.join("Cargo.toml"));
        }
    }
    manifests.retain(|path| path.is_file());
    manifests.sort();
    found.append(&mut manifests);
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn repository() -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        for path in ["bin/weir", "logic/model", "io/net", "tests/e2e", "xtask"] {
            fs::create_dir_all(root.path().join(path)).unwrap();
            fs::write(root.path().join(path).join("Cargo.toml"), path).unwrap();
        }
        fs::write(root.path().join("deny.toml"), "rules").unwrap();
        fs::write(root.path().join("Cargo.lock"), "lock").unwrap();
        root
    }

    #[test]
    fn a_change_of_rules_lock_file_or_any_manifest_has_another_digest() {
        let root = repository();
        let mut seen = vec![digest(root.path()).unwrap()];
        assert_eq!(digest(root.path()).unwrap(), seen[0]);
        for path in
            ["deny.toml", "Cargo.lock", "logic/model/Cargo.toml", "xtask/Cargo.toml", "tests/e2e/Cargo.toml"]
        {
            fs::write(root.path().join(path), "changed").unwrap();
            let digest = digest(root.path()).unwrap();
            assert!(!seen.contains(&digest), "{path}");
            seen.push(digest);
        }
    }

    #[test]
    fn nothing_is_run_when_it_passed_with_the_same_dependencies() {
        let root = repository();
        fs::write(root.path().join(PASSED), digest(root.path()).unwrap() + "\n").unwrap();
        // The manifests of this tree are invalid: cargo-deny would fail here.
        assert_eq!(check_if_changed(root.path()), Ok(()));
    }
}
