//! Stands between Cargo and the compiler, so that only the crates that strangers' bytes go through count which of their code an input
//! reached. With counters in every branch of the other two hundred, building takes twice as long, and libFuzzer hears of what no
//! input has a hold on.

use std::ffi::OsString;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Command, ExitCode};

use super::TRIPLE;

/// Set for Cargo, and by it for what it starts in the compiler's place.
const STANDS_IN: &str = "XTASK_COVERAGE";

/// What makes the compiler tell libFuzzer which code an input reached.
const FLAGS: [&str; 6] = [
    "-Cpasses=sancov-module",
    "-Cllvm-args=-sanitizer-coverage-level=4",
    "-Cllvm-args=-sanitizer-coverage-inline-8bit-counters",
    "-Cllvm-args=-sanitizer-coverage-pc-table",
    "-Cllvm-args=-sanitizer-coverage-trace-compares",
    "-Ccodegen-units=1",
];

/// Other people's parsers that the targets hand their input to; beside them every crate of ours.
const PARSERS: [&str; 11] = [
    "asn1-rs",
    "base64",
    "der-parser",
    "httparse",
    "httpdate",
    "nom",
    "quick-xml",
    "serde_json",
    "toml",
    "toml_parser",
    "x509-parser",
];

/// Makes this `cargo build` count.
///
/// # Errors
/// This program does not know where it is.
pub(super) fn count(cargo: &mut Command) -> Result<(), String> {
    let own = std::env::current_exe().map_err(|error| format!("where xtask is: {error}"))?;
    // The flags that everything is built with are also what tells Cargo that a crate is to be built anew.
    let rebuilt = format!("--cfg fuzzing --cfg counting=\"{}\" -Cdebug-assertions", spelled());
    cargo.env(STANDS_IN, "1").env("RUSTC_WRAPPER", own).env("RUSTFLAGS", rebuilt);
    Ok(())
}

/// Runs the compiler, if this program has been started in its place.
pub(crate) fn stand_in() -> Option<ExitCode> {
    std::env::var_os(STANDS_IN)?;
    let mut words = std::env::args_os().skip(1);
    let compiler = words.next()?;
    let words: Vec<_> = words.collect();
    let package = std::env::var("CARGO_PKG_NAME").unwrap_or_default();
    let mut command = Command::new(&compiler);
    command.args(&words).env_remove(STANDS_IN);
    if counts(&package, &words) {
        command.args(FLAGS);
    }
    let error = command.exec();
    eprintln!("{}: {error}", Path::new(&compiler).display());
    Some(ExitCode::FAILURE)
}

/// What is built for this machine's own use (build scripts, macros) does not.
fn counts(package: &str, words: &[OsString]) -> bool {
    let is_for_target = words.windows(2).any(|pair| pair[0] == "--target" && pair[1] == TRIPLE);
    is_for_target && (package.starts_with("weir-") || PARSERS.contains(&package))
}

/// All that decides what is built, in letters that a flag may have.
fn spelled() -> String {
    let all = FLAGS.iter().chain(&PARSERS).flat_map(|word| word.bytes());
    // FNV-1a.
    let sum = all
        .fold(0xcbf2_9ce4_8422_2325_u64, |sum, byte| (sum ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3));
    format!("{sum:016x}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(target: &[&str]) -> Vec<OsString> {
        ["--crate-name", "x"].iter().chain(target).map(OsString::from).collect()
    }

    #[test]
    fn ours_and_parsers_count_where_they_are_built_for_the_targets() {
        let target = words(&["--target", TRIPLE]);
        assert!(counts("weir-http", &target));
        assert!(counts("httparse", &target));
        assert!(!counts("cedar-policy-core", &target));
        assert!(!counts("weir-http", &words(&[])), "for a build script");
        assert!(!counts("weirdo", &target));
    }

    #[test]
    fn every_parser_is_one_that_the_fuzz_targets_are_built_with() {
        let lock = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fuzz/Cargo.lock");
        let lock = std::fs::read_to_string(lock).unwrap();
        for name in PARSERS {
            assert!(lock.contains(&format!("name = \"{name}\"\n")), "{name}");
        }
    }
}
