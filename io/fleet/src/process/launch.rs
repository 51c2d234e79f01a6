//! Launch of a process.

use std::fs::File;
use std::io;
use std::net::{IpAddr, TcpListener};
use std::ops::RangeInclusive;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};

use super::log;
use super::settings::{MACHINE_VARIABLE, ProcessSettings};
use crate::{Token, program};

/// Environment variables that a process inherits from Weir.
const PASSED_ON: [&str; 4] = ["PATH", "HOME", "LANG", "TZ"];

const SHELL: &str = "/bin/sh";

/// Starts the process of a machine. It has `name` in its environment, by which it is found, and holds `lock`.
/// It leads its own process group, so that a signal for Weir (Ctrl-C) does not reach it.
pub(super) fn launch(
    settings: &ProcessSettings,
    token: &Token,
    name: &str,
    port: u16,
    lock: File,
    log: &Path,
) -> io::Result<Child> {
    let fill = |text: &str| {
        text.replace("{port}", &port.to_string())
            .replace("{address}", &settings.address.to_string())
            .replace("{machine}", token.as_str())
    };
    let mut words = settings.command.iter().map(|word| fill(word));
    let program = words.next().ok_or_else(|| io::Error::other("the command is empty"))?;
    let mut command = match settings.limits.script() {
        None => Command::new(&program),
        // A shell sets the limits and then becomes the program, so that no Weir code runs between fork and
        // exec.
        Some(script) => {
            let mut command = Command::new(SHELL);
            command.args(["-c", &script, "sh", &program]);
            command
        }
    };
    let output = log::open(log)?;
    command
        .args(words)
        .env_clear()
        .envs(PASSED_ON.iter().filter_map(|name| Some((name, std::env::var_os(name)?))))
        .env("PORT", port.to_string())
        .envs(settings.environment.iter().map(|(name, value)| (name, fill(value))))
        .env(MACHINE_VARIABLE, name)
        .current_dir(settings.working_directory.as_deref().unwrap_or(&settings.directory))
        .process_group(0)
        // The file is empty, and the process holds it for its whole life. The environment is no such mark at
        // first: until exec, it is a copy of Weir's.
        .stdin(lock)
        .stdout(output.try_clone()?)
        .stderr(output);
    command.spawn().map_err(|cause| io::Error::new(cause.kind(), format!("{program}: {cause}")))
}

/// Returns the path of the command's program, if it exists and is executable.
pub(crate) fn find_program(settings: &ProcessSettings) -> Result<PathBuf, String> {
    let name = settings.command.first().ok_or("the command is empty")?;
    program::find(name, settings.working_directory.as_deref().unwrap_or(&settings.directory))
}

/// Returns a free port that is not `taken`. Another process may bind it first; then this process fails, and
/// gets another port at its restart.
pub(super) fn free_port(
    address: IpAddr,
    range: Option<&RangeInclusive<u16>>,
    taken: impl Fn(u16) -> bool,
) -> io::Result<Option<u16>> {
    /// Number of attempts; the system does not choose the same port again soon.
    const TRIES: usize = 100;

    if let Some(range) = range {
        return Ok(range.clone().find(|&port| !taken(port) && is_free(address, port)));
    }
    for _ in 0..TRIES {
        let port = TcpListener::bind((address, 0))?.local_addr()?.port();
        if !taken(port) {
            return Ok(Some(port));
        }
    }
    Ok(None)
}

/// Returns true if no process listens on the port.
pub(super) fn is_free(address: IpAddr, port: u16) -> bool {
    TcpListener::bind((address, port)).is_ok()
}
