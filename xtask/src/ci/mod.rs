//! Runs `cargo xtask ci`, the checks that a change must pass. Stops at the first phase that fails, and prints
//! the cost of each phase.

mod dependencies;
mod phases;

use std::path::Path;

use crate::arguments::Arguments;
use crate::command;
use crate::test;
use crate::tidy;

use phases::Phases;

pub(crate) use dependencies::run as run_deny;

/// Runs the command `ci [--no-tests] [--long]`: format, house rules, dependencies, lints and tests. `--long`
/// adds the tests that take minutes.
///
/// # Errors
/// If a phase fails: the reason of the first one that fails.
pub(crate) fn run(root: &Path, mut arguments: Arguments) -> Result<(), String> {
    let without_tests = arguments.flag("--no-tests");
    let tests = if arguments.flag("--long") { test::Tests::All } else { test::Tests::Quick };
    arguments.finish()?;
    let mut phases = Phases::default();
    let done = run_phases(root, tests, without_tests, &mut phases);
    println!("\n{phases}");
    done
}

fn run_phases(
    root: &Path,
    tests: test::Tests,
    without_tests: bool,
    phases: &mut Phases,
) -> Result<(), String> {
    phases.run("format", || {
        command::run(command::cargo().current_dir(root).args(["fmt", "--all", "--check"]))
    })?;
    phases.run("house rules", || tidy::check(root))?;
    phases.run("dependencies", || dependencies::check_if_changed(root))?;
    let built = phases.run("lints and build", || test::build(root, tests))?;
    if without_tests {
        return Ok(());
    }
    phases.run("tests", || test::run_all(root, built))
}
