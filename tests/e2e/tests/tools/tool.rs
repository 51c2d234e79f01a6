//! Runs programs that are not part of this project.

use std::fs::{self, File};
use std::path::PathBuf;
use std::process::{Command, ExitStatus, Output, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};
use weir_testkit::{TempDir, wait_until};

/// Time limit for a program. It is far longer than any program needs, except on a machine under heavy load.
const RUN_MAX: Duration = Duration::from_secs(100);

/// Runs a program to its end; see [`finish`].
///
/// # Panics
/// If the program is not installed, or does not end in time.
#[track_caller]
pub(crate) fn run(program: &str, arguments: &[&str]) -> Output {
    let mut command = command(program);
    command.args(arguments);
    finish(command)
}

/// Returns a command for a program, by its name or its path.
///
/// # Panics
/// If the program is not installed.
#[track_caller]
pub(crate) fn command(program: &str) -> Command {
    let path = std::env::var_os("PATH").unwrap_or_default();
    // Daemons are in /usr/sbin, which is not in every PATH.
    let directories = std::env::split_paths(&path).chain(["/usr/sbin", "/sbin"].map(PathBuf::from));
    let found = directories.map(|directory| directory.join(program)).find(|path| path.is_file());
    Command::new(found.unwrap_or_else(|| missing(program)))
}

/// Fails the test because something is not installed.
#[track_caller]
pub(crate) fn missing(what: &str) -> ! {
    panic!("{what} is not installed: run `scripts/setup test`")
}

/// Runs a command to its end. No process of its group is left afterwards, even if the test fails.
///
/// # Panics
/// If the command cannot be started, or does not end in time.
#[track_caller]
pub(crate) fn finish(mut command: Command) -> Output {
    use std::os::unix::process::CommandExt;
    // Output goes to files, because a pipe stays open until all processes that inherited it have ended.
    let directory = TempDir::new().unwrap();
    let [stdout, stderr] = ["stdout", "stderr"].map(|name| directory.path().join(name));
    command.stdin(Stdio::null());
    command.stdout(File::create(&stdout).unwrap()).stderr(File::create(&stderr).unwrap());
    command.process_group(0);
    let leader = command.spawn().unwrap_or_else(|cause| panic!("{command:?}: {cause}"));
    let mut group = Group { leader, status: None };
    wait_until(&format!("the end of {command:?}"), RUN_MAX, || group.is_over());
    let status = group.end();
    Output { status, stdout: fs::read(stdout).unwrap(), stderr: fs::read(stderr).unwrap() }
}

/// Returns both outputs of a program as one text.
pub(crate) fn text(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

/// Process group with its leader. It is killed when dropped.
struct Group {
    leader: std::process::Child,
    status: Option<ExitStatus>,
}

impl Group {
    /// Returns true if the leader has ended. It stays a zombie, so that its id, which is the group's, is not
    /// reused.
    fn is_over(&self) -> bool {
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        waitid(WaitId::Pid(Pid::from_child(&self.leader)), options).unwrap().is_some()
    }

    /// Kills the rest of the group and returns the exit status of its leader.
    fn end(&mut self) -> ExitStatus {
        *self.status.get_or_insert_with(|| {
            // Fails only if the group has no processes left.
            let _ = kill_process_group(Pid::from_child(&self.leader), Signal::KILL);
            self.leader.wait().unwrap()
        })
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.end();
    }
}

#[test]
#[should_panic(expected = "no-such-program is not installed: run `scripts/setup test`")]
fn a_program_that_is_not_installed_fails_the_test() {
    run("no-such-program", &[]);
}

#[test]
fn nothing_that_a_program_started_is_left() {
    let output = run("sh", &["-c", "sleep 1000 & echo $!"]);
    let sleeper = text(&output);
    let stat = PathBuf::from(format!("/proc/{}/stat", sleeper.trim()));
    // The process is at least dead. Its new parent may not have reaped it yet.
    wait_until("the end of the sleeper", weir_testkit::PATIENCE, || {
        fs::read_to_string(&stat).map_or(true, |stat| stat.contains(") Z "))
    });
}
