//! Runs `cargo test` and forwards its output line by line.

use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};

use super::tally::Tally;
use crate::command;

/// Runs `cargo` and adds the results that it prints to `tally`.
///
/// # Errors
/// If it cannot be run, or a test fails.
pub(super) fn run(cargo: &mut Command, tally: &mut Tally) -> Result<(), String> {
    let spelled = command::spelled(cargo);
    let mut child = cargo.stdout(Stdio::piped()).spawn().map_err(|error| format!("{spelled}: {error}"))?;
    if let Some(stdout) = child.stdout.take() {
        for line in BufReader::new(stdout).split(b'\n') {
            let line = line.map_err(|error| format!("{spelled}: its output: {error}"))?;
            let line = String::from_utf8_lossy(&line);
            tally.read("", &line);
            // A closed standard output must not stop the tests.
            let _ = writeln!(std::io::stdout(), "{line}");
        }
    }
    let status = child.wait().map_err(|error| format!("{spelled}: {error}"))?;
    if status.success() { Ok(()) } else { Err(format!("{spelled}: {status}")) }
}
