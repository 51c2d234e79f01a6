//! Finds the program under test. Cargo tells a test where the binaries of its own package are, but not of others.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::time::SystemTime;
use std::{env, fs};

/// The `weir` beside this test program, built if it is not there or older than its sources. `WEIR_BIN` overrides it.
///
/// # Panics
/// It cannot be built.
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

/// Whether no source is newer than the program, by the list that Cargo writes beside it.
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
