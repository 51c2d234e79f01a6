//! Runs every test and ends with one line that says what ran, so that a long log can be judged by its tail.

mod line_by_line;
mod programs;
mod side_by_side;
mod tally;

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::arguments::Arguments;
use crate::command;
use crate::release::target_directory;

use programs::Built;
use tally::Tally;

/// What a plain build has not, and packages have: the program, and the tests that start it.
pub(crate) const FEATURES: &str = "weir/kubernetes,weir-e2e/kubernetes";

/// Without arguments every test program of the workspace, as many at a time as there are cores: most of them wait for real time to
/// pass most of the time. With arguments `cargo test --workspace` with those. Then a summary of all their `test result` lines.
pub(crate) fn run(root: &Path, arguments: Arguments) -> Result<(), String> {
    let untested = Untested::new();
    let arguments = arguments.rest();
    let mut tally = Tally::default();
    let all_passed = if arguments.is_empty() {
        every_program(root, &untested, &mut tally)
    } else {
        let mut cargo = cargo_test(root, &untested);
        cargo.arg("--no-fail-fast").args(arguments);
        line_by_line::run(&mut cargo, &mut tally)
    };
    tally.untested.extend(untested.lines());
    println!("\n{tally}");
    all_passed
}

fn every_program(root: &Path, untested: &Untested, tally: &mut Tally) -> Result<(), String> {
    let Built { programs, weir } = Built::by(cargo_test(root, untested))?;
    let prepare = |command: &mut Command| {
        untested.tell(command);
        // Unless somebody wants another one tested.
        if let Some(weir) = weir.as_ref().filter(|_| std::env::var_os("WEIR_BIN").is_none()) {
            command.env("WEIR_BIN", weir);
        }
    };
    let logs = target_directory(root).join("test-logs");
    let passed = side_by_side::run(programs, &logs, prepare, tally, &mut std::io::stdout());
    let mut documentation = cargo_test(root, untested);
    let documented = line_by_line::run(documentation.args(["--doc", "--no-fail-fast"]), tally);
    passed.and(documented)
}

fn cargo_test(root: &Path, untested: &Untested) -> Command {
    let mut cargo = command::cargo();
    cargo.current_dir(root).args(["test", "--workspace", "--features", FEATURES]);
    untested.tell(&mut cargo);
    cargo
}

/// The file in which tests that could not test something say so.
struct Untested(PathBuf);

impl Untested {
    fn new() -> Self {
        Self(std::env::temp_dir().join(format!("weir-untested-{}", std::process::id())))
    }

    fn tell(&self, command: &mut Command) {
        command.env("WEIR_UNTESTED", &self.0);
    }

    /// Takes the file away. Without one, everything was tested.
    fn lines(self) -> Vec<String> {
        let lines = std::fs::read_to_string(&self.0).unwrap_or_default();
        let _ = std::fs::remove_file(&self.0);
        lines.lines().map(str::to_owned).collect()
    }
}
