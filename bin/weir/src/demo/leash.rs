//! Ties children to the life of the demo, even if it is killed and has no time to clean up.
//!
//! The kernel can send a process a signal when its parent dies, but the child must request it (prctl
//! PR_SET_PDEATHSIG). So that the verbs need not know of this, a child starts as `weir demo --leashed-to PID
//! -- VERB ...` and requests the signal. Then it becomes `weir VERB ...` by exec, which keeps the request.

use std::ffi::OsString;
use std::io;
use std::os::unix::process::CommandExt;
use std::process::Command;

use rustix::process::{Signal, getpid, getppid, set_parent_process_death_signal};

/// Returns a command that starts this program with `arguments` and ends when this process dies. The main
/// thread must start it: the kernel sends the signal when the thread that started the child ends.
pub(super) fn command(arguments: &[String]) -> io::Result<Command> {
    let mut command = Command::new(std::env::current_exe()?);
    let parent = getpid().as_raw_nonzero().to_string();
    command.args(["demo", "--leashed-to", &parent, "--"]).args(arguments);
    Ok(command)
}

/// Turns this process, which `parent` has started, into `weir ARGUMENTS`. Returns only if that fails, with
/// the reason.
pub(super) fn become_child(parent: i32, arguments: &[OsString]) -> String {
    if let Err(error) = set_parent_process_death_signal(Some(Signal::KILL)) {
        return format!("tie a child to its parent: {error}");
    }
    // The parent may have died before the signal was requested, and it would never come.
    if getppid().is_none_or(|actual| actual.as_raw_nonzero().get() != parent) {
        return format!("process {parent} is not the parent, or no more");
    }
    match std::env::current_exe() {
        Ok(program) => {
            format!("exec {}: {}", program.display(), Command::new(&program).args(arguments).exec())
        }
        Err(error) => format!("own path: {error}"),
    }
}
