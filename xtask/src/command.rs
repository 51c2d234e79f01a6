use std::ffi::OsStr;
use std::process::{Command, Stdio};

/// The cargo that runs this program.
pub(crate) fn cargo() -> Command {
    Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
}

/// Runs it with our own output streams.
///
/// # Errors
/// It cannot be started, or ends with another status than 0.
pub(crate) fn run(command: &mut Command) -> Result<(), String> {
    let name = spelled(command);
    let status = command.status().map_err(|error| format!("{name}: {error}"))?;
    if status.success() { Ok(()) } else { Err(format!("{name}: {status}")) }
}

/// Runs it and returns what it wrote to standard output.
///
/// # Errors
/// As [`run`], with what it wrote to standard error.
pub(crate) fn output(command: &mut Command) -> Result<String, String> {
    let name = spelled(command);
    let output = command.output().map_err(|error| format!("{name}: {error}"))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        return Err(format!("{name}: {}: {}", output.status, said.trim()));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Runs it and returns what it wrote to standard output; what it writes to standard error goes to ours.
///
/// # Errors
/// As [`run`].
pub(crate) fn output_beside_errors(command: &mut Command) -> Result<String, String> {
    let name = spelled(command);
    let output = command.stderr(Stdio::inherit()).output().map_err(|error| format!("{name}: {error}"))?;
    match output.status.success() {
        true => Ok(String::from_utf8_lossy(&output.stdout).into_owned()),
        false => Err(format!("{name}: {}", output.status)),
    }
}

/// The command line, for people.
pub(crate) fn spelled(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    words.map(OsStr::to_string_lossy).collect::<Vec<_>>().join(" ")
}
