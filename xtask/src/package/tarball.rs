//! Builds the tarball.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::layout::{self, Places};
use super::{Release, debian};
use crate::command;

/// Paths within the tarball: one directory that runs wherever it is unpacked. docs/guide/systemd.md says
/// where the files belong in a system.
const PLACES: Places = Places {
    binary: "bin/weir",
    config: "etc/weir/weir.toml",
    unit: "lib/systemd/system/weir.service",
    sysusers: "lib/sysusers.d/weir.conf",
    logrotate: "etc/logrotate.d/weir",
    completions: [
        "share/bash-completion/completions/weir",
        "share/zsh/site-functions/_weir",
        "share/fish/vendor_completions.d/weir.fish",
    ],
    manual: "share/man/man8",
    documents: "share/doc/weir",
};

/// Writes `weir-VERSION-linux-ARCH.tar.gz` into `out` and returns its path.
pub(super) fn build(release: &Release, out: &Path) -> Result<PathBuf, String> {
    let name = format!("weir-{}-linux-{}", release.version, release.architecture);
    let staging = debian::Staging::new(out, &name)?;
    layout::lay_out(release, &PLACES, &staging.path().join(&name))?;
    let documents = staging.path().join(&name).join(PLACES.documents);
    for (from, to) in [("LICENSE", "LICENSE"), ("CHANGELOG.md", "CHANGELOG.md")] {
        layout::install(&release.root.join(from), &documents.join(to), 0o644)?;
    }
    layout::open_directories(staging.path())?;
    let archive = out.join(format!("{name}.tar.gz"));
    command::run(
        Command::new("tar")
            .args(["--create", "--sort=name", "--owner=0", "--group=0", "--numeric-owner"])
            .args(["--use-compress-program=gzip --no-name"])
            .arg(format!("--mtime=@{}", release.epoch_s))
            .arg(format!("--file={}", archive.display()))
            .arg(format!("--directory={}", staging.path().display()))
            .arg(&name),
    )?;
    Ok(archive)
}
