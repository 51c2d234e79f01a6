//! Runs other programs.

use std::ffi::OsStr;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::Value;

/// Returns a command for the cargo that runs this program.
pub(crate) fn cargo() -> Command {
    Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
}

/// Runs a command that writes to this process's own output streams.
///
/// # Errors
/// If the command cannot be started or its exit status is not 0.
pub(crate) fn run(command: &mut Command) -> Result<(), String> {
    let name = spelled(command);
    let status = command.status().map_err(|error| format!("{name}: {error}"))?;
    if status.success() { Ok(()) } else { Err(format!("{name}: {status}")) }
}

/// Runs a command and returns its standard output.
///
/// # Errors
/// Those of [`run`], with the command's standard error in the message.
pub(crate) fn output(command: &mut Command) -> Result<String, String> {
    let name = spelled(command);
    let output = command.output().map_err(|error| format!("{name}: {error}"))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        return Err(format!("{name}: {}: {}", output.status, said.trim()));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Runs a command and returns its standard output. Its standard error goes to that of this process.
///
/// # Errors
/// Those of [`run`].
pub(crate) fn output_beside_errors(command: &mut Command) -> Result<String, String> {
    let name = spelled(command);
    let output = command.stderr(Stdio::inherit()).output().map_err(|error| format!("{name}: {error}"))?;
    match output.status.success() {
        true => Ok(String::from_utf8_lossy(&output.stdout).into_owned()),
        false => Err(format!("{name}: {}", output.status)),
    }
}

/// Returns the name and path of the program that a Cargo message (`--message-format json`) reports. Returns
/// `None` for other messages.
pub(crate) fn program_of(message: &Value) -> Option<(&str, &Path)> {
    let target = &message["target"];
    let is_program = target["kind"].as_array()?.iter().any(|kind| kind == "bin");
    let executable = message["executable"].as_str().filter(|_| is_program)?;
    Some((target["name"].as_str()?, Path::new(executable)))
}

/// Returns the command line as text for messages.
pub(crate) fn spelled(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    words.map(OsStr::to_string_lossy).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_is_found_by_its_name_among_what_cargo_says() {
        let message = r#"{"reason":"compiler-artifact","target":{"kind":["bin"],"name":"config"},"executable":"/w/target/debug/deps/config-1"}"#;
        let found = |text: &str| {
            let message: Value = serde_json::from_str(text).unwrap();
            program_of(&message).map(|(name, path)| (name.to_owned(), path.to_owned()))
        };
        assert_eq!(found(message), Some(("config".to_owned(), "/w/target/debug/deps/config-1".into())));
        assert_eq!(found(&message.replace("\"bin\"", "\"lib\"")), None);
        assert_eq!(found(&message.replace("\"/w/target/debug/deps/config-1\"", "null")), None);
    }
}
