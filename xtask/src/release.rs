//! Builds the optimized program, with the profile that `cargo xtask profile` has taken under load.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

use crate::arguments::Arguments;
use crate::command;
use crate::content::{fnv1a, named_by_content};
use crate::lock;

/// Profile, and the file with the [`fingerprint`] of the sources that it was taken from.
pub(crate) const PROFILE: &str = "packaging/weir.profdata";
pub(crate) const PROFILE_OF: &str = "packaging/weir.profdata.of";

/// Files that all function names depend on, besides the settings of the release profile. A profile taken with
/// other versions of these files matches no function of the current build.
const NAMES_COME_FROM: [&str; 2] = ["rust-toolchain.toml", "bin/weir/Cargo.toml"];
/// Lock file, of which only the packages that the program is built from count.
const LOCK: &str = "Cargo.lock";
/// Manifest whose `profile.release` says how crates are built.
const WORKSPACE: &str = "Cargo.toml";

/// Only architecture that the profile was taken on.
const PROFILED_ARCHITECTURE: &str = "x86_64";

/// Runs the command `release [--plain]`.
pub(crate) fn run(root: &Path, mut arguments: Arguments) -> Result<(), String> {
    let plain = arguments.flag("--plain");
    arguments.finish()?;
    println!("{}", if plain { without_profile(root) } else { with_profile(root) }?.display());
    Ok(())
}

/// Builds the program with all its features and the profile, and returns its path.
///
/// # Errors
/// If the profile cannot be read, or cargo fails.
pub(crate) fn with_profile(root: &Path) -> Result<PathBuf, String> {
    if std::env::consts::ARCH != PROFILED_ARCHITECTURE {
        println!("note: {PROFILE} is of {PROFILED_ARCHITECTURE}: built without");
        return without_profile(root);
    }
    let target = target_directory(root);
    let profile = named_by_content(&root.join(PROFILE), &target.join("profile"))?;
    if read(&root.join(PROFILE_OF))?.trim() != fingerprint(root)? {
        println!(
            "note: {PROFILE} was taken with another toolchain or other dependencies: the program will be slower than it could be \
             (`make profile` takes it anew)"
        );
    }
    let mut flag = std::ffi::OsString::from("-Cprofile-use=");
    flag.push(&profile);
    // Functions that have changed since are built without the profile, as intended: a warning for each would
    // be noise.
    build(root, &target, &[&flag, OsStr::new("-Cllvm-args=-no-pgo-warn-mismatch")])
}

fn without_profile(root: &Path) -> Result<PathBuf, String> {
    build(root, &target_directory(root), &[])
}

/// Runs `cargo build --release` for the program with all its features, into `target`. Adds `flags` for rustc
/// to those of the environment. Returns the path of the program.
pub(crate) fn build(root: &Path, target: &Path, flags: &[&OsStr]) -> Result<PathBuf, String> {
    let mut cargo = command::cargo();
    cargo.current_dir(root).args(["build", "--release", "--package", "weir", "--features", "kubernetes"]);
    cargo.env("CARGO_TARGET_DIR", target);
    if !flags.is_empty() {
        cargo.env("CARGO_ENCODED_RUSTFLAGS", encoded(flags));
    }
    command::run(&mut cargo)?;
    Ok(target.join("release/weir"))
}

/// Returns Cargo's target directory.
pub(crate) fn target_directory(root: &Path) -> PathBuf {
    root.join(std::env::var_os("CARGO_TARGET_DIR").unwrap_or_else(|| "target".into()))
}

/// Returns a digest that changes when the function names in the profile become outdated.
///
/// # Errors
/// If a file that the digest depends on cannot be read or is not valid TOML.
pub(crate) fn fingerprint(root: &Path) -> Result<String, String> {
    let mut all = Vec::new();
    for path in NAMES_COME_FROM {
        all.extend_from_slice(read(&root.join(path))?.as_bytes());
    }
    let lock = root.join(LOCK);
    let built_of =
        lock::built_of(&read(&lock)?, "weir").map_err(|why| format!("{}: {why}", lock.display()))?;
    all.extend_from_slice(built_of.as_bytes());
    all.extend_from_slice(release_profile(&root.join(WORKSPACE))?.as_bytes());
    Ok(format!("{:016x}", fnv1a(&all)))
}

/// Returns the workspace's settings for release builds.
fn release_profile(path: &Path) -> Result<String, String> {
    let workspace: toml::Table =
        read(path)?.parse().map_err(|error| format!("{}: {error}", path.display()))?;
    let profile = workspace.get("profile").and_then(|profiles| profiles.get("release"));
    Ok(profile.map_or_else(String::new, ToString::to_string))
}

/// Returns the flags of the environment and `flags`, in the encoding of `CARGO_ENCODED_RUSTFLAGS`, in which
/// flags may contain spaces.
fn encoded(flags: &[&OsStr]) -> std::ffi::OsString {
    let mut all = std::env::var_os("CARGO_ENCODED_RUSTFLAGS").unwrap_or_else(|| {
        let spaced = std::env::var("RUSTFLAGS").unwrap_or_default();
        spaced.split_whitespace().collect::<Vec<_>>().join("\u{1f}").into()
    });
    for flag in flags {
        if !all.is_empty() {
            all.push("\u{1f}");
        }
        all.push(flag);
    }
    all
}

fn read(path: &Path) -> Result<String, String> {
    fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Creates a directory with every file that the fingerprint depends on.
    fn repository() -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        for path in NAMES_COME_FROM {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "one").unwrap();
        }
        fs::write(root.path().join(WORKSPACE), "[profile.release]\nopt-level = 3\n").unwrap();
        fs::write(root.path().join(LOCK), "[[package]]\nname = \"weir\"\nversion = \"1\"\n").unwrap();
        root
    }

    #[test]
    fn other_dependencies_have_another_fingerprint() {
        let root = repository();
        let before = fingerprint(root.path()).unwrap();
        assert_eq!(fingerprint(root.path()).unwrap(), before);
        let lock = root.path().join(LOCK);
        let read = fs::read_to_string(&lock).unwrap();
        fs::write(&lock, read.clone() + "[[package]]\nname = \"of-tests\"\nversion = \"1\"\n").unwrap();
        assert_eq!(fingerprint(root.path()).unwrap(), before);
        fs::write(&lock, read.replace("\"1\"", "\"2\"")).unwrap();
        assert_ne!(fingerprint(root.path()).unwrap(), before);
    }

    #[test]
    fn crates_that_are_built_otherwise_have_another_fingerprint_and_other_settings_do_not_matter() {
        let root = repository();
        let of = |workspace: &str| {
            fs::write(root.path().join(WORKSPACE), workspace).unwrap();
            fingerprint(root.path()).unwrap()
        };
        let before = of("[profile.release]\nopt-level = 3\n");
        assert_ne!(
            of("[profile.release]\nopt-level = 3\n[profile.release.package]\na = { opt-level = 1 }\n"),
            before
        );
        assert_eq!(
            of("[workspace]\n# of a crate\n[profile.release]\nopt-level = 3\n[profile.dev]\ndebug = 1\n"),
            before
        );
        assert_ne!(of("[profile.dev]\nopt-level = 3\n"), before);
    }

    #[test]
    fn a_workspace_that_cannot_be_read_is_named() {
        let root = repository();
        fs::write(root.path().join(WORKSPACE), "[profile.release\n").unwrap();
        let why = fingerprint(root.path()).unwrap_err();
        assert!(why.contains("Cargo.toml: TOML parse error at line 1"), "{why}");
    }

    #[test]
    fn a_file_that_is_missing_is_named() {
        let root = repository();
        fs::remove_file(root.path().join("Cargo.lock")).unwrap();
        let why = fingerprint(root.path()).unwrap_err();
        assert!(why.contains("Cargo.lock: No such file"), "{why}");
    }

    #[test]
    fn the_profile_that_comes_with_the_sources_is_one_of_llvm() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let profile = fs::read(root.join(PROFILE)).unwrap();
        // llvm/include/llvm/ProfileData/InstrProf.h: \xff l p r o f i \x81, little-endian.
        assert_eq!(profile[..8], *b"\xfflprofi\x81");
        let of = fs::read_to_string(root.join(PROFILE_OF)).unwrap();
        assert!(u64::from_str_radix(of.trim(), 16).is_ok() && of.trim().len() == 16, "{of:?}");
    }
}
