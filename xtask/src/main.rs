//! Repository chores behind `make`: `cargo xtask ci | tidy | deny | test | workspace | fuzz | release |
//! profile | package`.
//!
//! It knows the repository, not the product: it links to no other crate of the workspace, so it builds in
//! seconds.

mod arguments;
mod ci;
mod command;
mod content;
mod fuzz;
mod lock;
mod package;
mod profile;
mod release;
mod test;
mod tidy;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use arguments::Arguments;

const USAGE: &str = "\
usage: cargo xtask COMMAND

  ci [--no-tests] [--long]         the gate: format, house rules, dependencies, lints, tests; what each cost; --no-tests = all but running them;
                                   --long = tests that take minutes, too
  deny [--advisories]              cargo-deny over the dependencies: bans, licences, sources; or known vulnerabilities
  tidy [--counts]                  house rules that the compiler does not know; --counts = places against the rules of prose, by part
  test [ARGUMENTS OF cargo test]   every test, programs side by side, or those of the arguments; and a summary. Fails where no test has run
  workspace [--long] COMMAND [ARGUMENTS]
                                   cargo COMMAND over the whole workspace with the features of its tests; --long = of those that take minutes, too
  fuzz [--seconds N] [--seed N] [TARGET...]   each fuzz target with libFuzzer for N seconds (30); seed 0 = another one each time
  release [--plain]                the optimised program, laid out by packaging/weir.profdata; --plain = not by that
  profile [--instrumented FILE]    packaging/weir.profdata anew, by load on a build that counts, or on FILE that is one
  package [--binary FILE] [--out DIR] [--only tarball|deb|sbom]
                                   a tarball and a Debian package from the release build, or from FILE";

fn main() -> ExitCode {
    let mut arguments = Arguments::from_process();
    let root = repository_root();
    let done = match arguments.next().as_deref() {
        Some("ci") => ci::run(&root, arguments),
        Some("deny") => ci::run_deny(&root, arguments),
        Some("tidy") => tidy::run(&root, arguments),
        Some("test") => test::run(&root, arguments),
        Some("workspace") => test::run_over_workspace(&root, arguments),
        Some("fuzz") => fuzz::run(&root, arguments),
        Some("release") => release::run(&root, arguments),
        Some("profile") => profile::run(&root, arguments),
        Some("package") => package::run(&root, arguments),
        Some("help" | "--help" | "-h") => {
            println!("{USAGE}");
            return ExitCode::SUCCESS;
        }
        Some(other) => Err(format!("unknown command {other:?}\n\n{USAGE}")),
        None => Err(USAGE.to_owned()),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("{message}");
            ExitCode::FAILURE
        }
    }
}

/// Returns the directory above xtask/, independent of the working directory.
fn repository_root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().unwrap_or(here).to_owned()
}
