//! Finds the program under test. Cargo gives a test the paths of the binaries of its own package, but not of
//! other packages.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::time::SystemTime;
use std::{env, fs};

/// Returns the path of the `weir` next to this test program. Builds it if it does not exist or is older than
/// its sources. The environment variable `WEIR_BIN` overrides it.
///
/// # Panics
/// If the build fails.
pub fn path() -> &'static Path {
    static PATH: OnceLock<PathBuf> = OnceLock::new();
    PATH.get_or_init(|| match env::var_os("WEIR_BIN") {
        Some(path) => PathBuf::from(path),
        None => beside_this_test(),
    })
}

fn beside_this_test() -> PathBuf {
    // target/<profile>/deps/<test>-<hash>
    let test = env::current_exe().expect("own path");
    let profile = test.parent().and_then(Path::parent).expect("target/<profile>/deps");
    let weir = profile.join("weir");
    if !is_fresh(&weir) {
        build(profile);
    }
    weir
}

/// Returns true if no source is newer than the program, according to the list that Cargo writes next to it.
fn is_fresh(program: &Path) -> bool {
    let Some(built) = modified(program) else { return false };
    let Ok(list) = fs::read_to_string(program.with_extension("d")) else { return false };
    let sources = list.split_once(": ").map_or("", |(_, sources)| sources);
    let mut sources = sources.replace("\\ ", "\u{0}");
    sources.retain(|c| c != '\n');
    sources.split(' ').all(|source| {
        modified(Path::new(&source.replace('\u{0}', " "))).is_some_and(|changed| changed <= built)
    })
}

fn modified(path: &Path) -> Option<SystemTime> {
    path.metadata().and_then(|metadata| metadata.modified()).ok()
}

fn build(profile: &Path) {
    let name = profile.file_name().and_then(|name| name.to_str()).expect("a profile's directory");
    let target = profile.parent().expect("target");
    let mut cargo = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.current_dir(env!("CARGO_MANIFEST_DIR"));
    cargo.args([
        "build",
        "--quiet",
        "--package",
        "weir",
        "--profile",
        if name == "debug" { "dev" } else { name },
    ]);
    if cfg!(feature = "kubernetes") {
        cargo.args(["--features", "kubernetes"]);
    }
    cargo.arg("--target-dir").arg(target);
    let status = cargo.status().unwrap_or_else(|cause| panic!("{cargo:?}: {cause}"));
    assert!(status.success(), "{cargo:?}: {status}");
}
