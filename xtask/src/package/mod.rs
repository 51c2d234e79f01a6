//! Packages a built program: a tarball for any Linux, a Debian package, and a software bill of materials.
//!
//! Both packages contain the same program, config, unit and texts, at different paths. They are reproducible:
//! owners, order and times do not depend on the build machine.

mod debian;
mod elf;
mod layout;
mod sbom;
mod tarball;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::arguments::Arguments;
use crate::{command, release};

/// Input of a package build.
struct Release {
    root: PathBuf,
    version: String,
    binary: PathBuf,
    /// Modification time of every file in the package, in seconds since 1970.
    epoch_s: u64,
    /// Debian's name of the architecture.
    architecture: &'static str,
}

/// Runs the command `package [--binary FILE] [--out DIR] [--only tarball|deb|sbom]`.
pub(crate) fn run(root: &Path, mut arguments: Arguments) -> Result<(), String> {
    let binary = arguments.option("--binary")?.map(PathBuf::from);
    let out = arguments.option("--out")?.map_or_else(|| root.join("dist"), PathBuf::from);
    let only = arguments.option("--only")?;
    arguments.finish()?;
    let (tarball, deb, sbom) = match only.as_deref() {
        None => (true, true, true),
        Some("tarball") => (true, false, false),
        Some("deb") => (false, true, false),
        Some("sbom") => (false, false, true),
        Some(other) => return Err(format!("--only {other}: one of tarball, deb, sbom")),
    };
    let binary = match binary {
        Some(binary) => binary,
        None if tarball || deb => release::with_profile(root)?,
        None => PathBuf::new(),
    };
    let release = Release {
        version: version(root)?,
        epoch_s: epoch_s(root),
        architecture: architecture()?,
        root: root.to_owned(),
        binary,
    };
    fs::create_dir_all(&out).map_err(|error| format!("{}: {error}", out.display()))?;
    if tarball {
        println!("{}", tarball::build(&release, &out)?.display());
    }
    if deb {
        println!("{}", debian::build(&release, &out)?.display());
    }
    if sbom {
        println!("{}", sbom::build(&release, &out)?.display());
    }
    Ok(())
}

/// Returns `version` of `[workspace.package]`.
fn version(root: &Path) -> Result<String, String> {
    let manifest = root.join("Cargo.toml");
    let at = manifest.display();
    let text = fs::read_to_string(&manifest).map_err(|error| format!("{at}: {error}"))?;
    let table: toml::Table = text.parse().map_err(|error| format!("{at}: {error}"))?;
    let version = table.get("workspace").and_then(|it| it.get("package")?.get("version")?.as_str());
    version.map(str::to_owned).ok_or_else(|| format!("{at}: no [workspace.package] version"))
}

/// Returns `SOURCE_DATE_EPOCH` if it is set, else the time of the last commit, else 1980 (the oldest that
/// every archive format can hold).
fn epoch_s(root: &Path) -> u64 {
    let from_environment = std::env::var("SOURCE_DATE_EPOCH").ok();
    let from_git =
        || command::output(Command::new("git").current_dir(root).args(["log", "-1", "--format=%ct"])).ok();
    let text = from_environment.or_else(from_git).unwrap_or_default();
    text.trim().parse().unwrap_or(315_532_800)
}

fn architecture() -> Result<&'static str, String> {
    match std::env::consts::ARCH {
        "x86_64" => Ok("amd64"),
        "aarch64" => Ok("arm64"),
        other => Err(format!("no Debian architecture is known for {other}")),
    }
}
