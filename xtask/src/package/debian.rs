//! Builds the Debian package.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::layout::{self, Places};
use super::{Release, elf};
use crate::command;

const PLACES: Places = Places {
    binary: "usr/sbin/weir",
    config: "etc/weir/weir.toml",
    unit: "lib/systemd/system/weir.service",
    sysusers: "usr/lib/sysusers.d/weir.conf",
    logrotate: "etc/logrotate.d/weir",
    completions: [
        "usr/share/bash-completion/completions/weir",
        "usr/share/zsh/vendor-completions/_weir",
        "usr/share/fish/vendor_completions.d/weir.fish",
    ],
    manual: "usr/share/man/man8",
    documents: "usr/share/doc/weir",
};

/// Files that an operator edits. dpkg asks before it replaces them.
const CONFFILES: &str = "/etc/weir/weir.toml\n/etc/logrotate.d/weir\n";

const SCRIPTS: [&str; 3] = ["postinst", "prerm", "postrm"];

/// Writes `weir_VERSION_ARCH.deb` into `out` and returns its path.
pub(super) fn build(release: &Release, out: &Path) -> Result<PathBuf, String> {
    let name = format!("weir_{}_{}", release.version, release.architecture);
    let staging = Staging::new(out, &name)?;
    let tree = staging.path();
    layout::lay_out(release, &PLACES, tree)?;
    let documents = tree.join(PLACES.documents);
    layout::install_gzipped(&release.root.join("CHANGELOG.md"), &documents.join("changelog.gz"))?;
    layout::install(&release.root.join("packaging/copyright"), &documents.join("copyright"), 0o644)?;

    let control = control(release, &elf::depends(&release.binary)?, kilobytes(tree)?);
    layout::write(&tree.join("DEBIAN/control"), control.as_bytes(), 0o644)?;
    layout::write(&tree.join("DEBIAN/conffiles"), CONFFILES.as_bytes(), 0o644)?;
    for script in SCRIPTS {
        let from = release.root.join("packaging/debian").join(script);
        layout::install(&from, &tree.join("DEBIAN").join(script), 0o755)?;
    }

    layout::open_directories(tree)?;
    let package = out.join(format!("{name}.deb"));
    // xz, not zstd: every Debian release with systemd can unpack it.
    command::output(
        Command::new("dpkg-deb")
            .env("SOURCE_DATE_EPOCH", release.epoch_s.to_string())
            .args(["--root-owner-group", "-Zxz", "--build"])
            .args([tree, &package]),
    )?;
    Ok(package)
}

fn control(release: &Release, depends: &str, installed_kb: u64) -> String {
    let Release { version, architecture, .. } = release;
    format!(
        "Package: weir\n\
         Version: {version}\n\
         Architecture: {architecture}\n\
         Maintainer: The Weir developers <weir@localhost>\n\
         Section: net\n\
         Priority: optional\n\
         Installed-Size: {installed_kb}\n\
         Depends: {depends}\n\
         Recommends: ca-certificates, logrotate\n\
         Description: load balancer for HTTP and TCP\n \
         Accepts HTTP/1, TLS and TCP connections, chooses a server among those that\n \
         are healthy, and moves the bytes. Configuration and servers change without\n \
         a lost request.\n"
    )
}

/// Returns the size of the files below `directory` as `Installed-Size` requires it: in KiB, each file rounded
/// up.
fn kilobytes(directory: &Path) -> Result<u64, String> {
    let failed = |error: std::io::Error| format!("{}: {error}", directory.display());
    let mut total = 1;
    for entry in fs::read_dir(directory).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let metadata = entry.metadata().map_err(failed)?;
        total += if metadata.is_dir() { kilobytes(&entry.path())? } else { metadata.len().div_ceil(1024) };
    }
    Ok(total)
}

/// Temporary directory that is removed when the package is built or the build fails.
pub(super) struct Staging(PathBuf);

impl Staging {
    /// Creates an empty directory in `out`. Removes the leftovers of a build that was killed.
    pub(super) fn new(out: &Path, name: &str) -> Result<Self, String> {
        let path = out.join(format!(".{name}.staging"));
        let failed = |error: std::io::Error| format!("{}: {error}", path.display());
        if path.exists() {
            fs::remove_dir_all(&path).map_err(failed)?;
        }
        fs::create_dir_all(&path).map_err(failed)?;
        Ok(Self(path))
    }

    pub(super) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Staging {
    fn drop(&mut self) {
        // A failure cannot be handled here, and the next build removes the directory.
        let _ = fs::remove_dir_all(&self.0);
    }
}
