//! Runs the tests and ends with a summary line, so that the end of a long log shows the result.

mod line_by_line;
mod programs;
mod selection;
mod side_by_side;
mod tally;

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::arguments::Arguments;
use crate::command;
use crate::release::target_directory;

use tally::Tally;

pub(crate) use programs::Built;

/// Features that a plain build lacks: those of the program, and those of the tests that start it.
pub(crate) const FEATURES: &str = "weir/kubernetes,weir-e2e/kubernetes";

/// Features that enable the tests that take minutes.
const LONG: &str = "weir-e2e/long,weir-sim/long,xtask/long";

/// Selection of tests to build and run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tests {
    /// Tests that do not take minutes.
    Quick,
    All,
}

/// Builds and runs every quick test program. With arguments, runs `cargo test` with them instead, for the
/// whole workspace unless they name packages (`-p`). Doc tests run only in `make check-all`. Ends with a
/// summary of all `test result` lines.
pub(crate) fn run(root: &Path, arguments: Arguments) -> Result<(), String> {
    let arguments = arguments.rest();
    if arguments.is_empty() {
        return run_all(root, build(root, Tests::Quick)?);
    }
    let untested = Untested::new();
    let mut tally = Tally::default();
    let builds_only = arguments.iter().take_while(|word| *word != "--").any(|word| word == "--no-run");
    let mut cargo = command::cargo();
    cargo.current_dir(root).arg("test").args(selection::of(&arguments));
    untested.tell(&mut cargo);
    cargo.arg("--no-fail-fast").args(arguments);
    let all_passed = line_by_line::run(&mut cargo, &mut tally);
    tally.untested.extend(untested.lines());
    if !builds_only {
        println!("\n{tally}");
    }
    all_passed?;
    // Cargo succeeds if no test has the given name.
    if tally.is_empty() && !builds_only { Err("no test has this name".to_owned()) } else { Ok(()) }
}

/// Runs the command `workspace [--long] COMMAND [ARGUMENTS]`: a command of Cargo over the whole workspace,
/// with the features of the tests.
///
/// # Errors
/// If no command is given, or it fails.
pub(crate) fn run_over_workspace(root: &Path, mut arguments: Arguments) -> Result<(), String> {
    let command = arguments.next();
    let is_long = command.as_deref() == Some("--long");
    let command = if is_long { arguments.next() } else { command };
    let command = command.ok_or("workspace: which command of cargo?")?;
    let mut cargo = command::cargo();
    cargo.current_dir(root).arg(command).args(selection::workspace(is_long)).args(arguments.rest());
    command::run(&mut cargo)
}

/// Builds every test program, and fails on any warning of the compiler or of clippy.
///
/// Clippy's driver is a whole compiler. Cargo runs it in place of `rustc` for the crates of the workspace, so
/// one build gives both the lints and the programs. `cargo clippy` would analyse every dependency once more.
pub(crate) fn build(root: &Path, tests: Tests) -> Result<Built, String> {
    let mut cargo = command::cargo();
    cargo.current_dir(root).arg("test").args(selection::workspace(tests == Tests::All));
    cargo.env("RUSTC_WORKSPACE_WRAPPER", clippy_driver()?);
    // `cargo clippy -- --deny warnings` passes its arguments to the driver in this form.
    cargo.env("CLIPPY_ARGS", "--deny__CLIPPY_HACKERY__warnings__CLIPPY_HACKERY__");
    Built::by(cargo)
}

/// Runs the test programs in parallel, one more at a time than there are cores.
pub(crate) fn run_all(root: &Path, built: Built) -> Result<(), String> {
    let untested = Untested::new();
    let mut tally = Tally::default();
    let Built { programs, weir } = built;
    let prepare = |command: &mut Command| {
        untested.tell(command);
        // The caller may have set `WEIR_BIN` to test another program.
        if let Some(weir) = weir.as_ref().filter(|_| std::env::var_os("WEIR_BIN").is_none()) {
            command.env("WEIR_BIN", weir);
        }
    };
    let logs = target_directory(root).join("test-logs");
    let passed = side_by_side::run(programs, &logs, prepare, &mut tally, &mut std::io::stdout());
    tally.untested.extend(untested.lines());
    println!("\n{tally}");
    passed
}

/// Returns the path of clippy's compiler in the current toolchain. Cargo rebuilds the workspace when this
/// path changes.
fn clippy_driver() -> Result<PathBuf, String> {
    let sysroot = command::output(Command::new("rustc").args(["--print", "sysroot"]))?;
    let driver = Path::new(sysroot.trim()).join("bin/clippy-driver");
    match driver.is_file() {
        true => Ok(driver),
        false => Err(format!("{}: missing: run `rustup component add clippy`", driver.display())),
    }
}

/// File in which tests report what they could not test on this machine.
struct Untested(PathBuf);

impl Untested {
    fn new() -> Self {
        Self(std::env::temp_dir().join(format!("weir-untested-{}", std::process::id())))
    }

    fn tell(&self, command: &mut Command) {
        command.env("WEIR_UNTESTED", &self.0);
    }

    /// Reads the lines and deletes the file. No file means that everything was tested.
    fn lines(self) -> Vec<String> {
        let lines = std::fs::read_to_string(&self.0).unwrap_or_default();
        let _ = std::fs::remove_file(&self.0);
        lines.lines().map(str::to_owned).collect()
    }
}
