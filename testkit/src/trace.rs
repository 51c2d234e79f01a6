//! System calls of a process, traced with strace.

use std::collections::BTreeMap;
use std::process::Command;

use tempfile::TempDir;

use crate::process::{Child, Signal};
use crate::untested::untested;
use crate::wait::{PATIENCE, wait_until};

/// System calls of a process as strace prints them: one call in a line, in the order of their returns, with
/// the file or socket of each descriptor.
#[derive(Debug)]
pub struct Trace {
    strace: Child,
    directory: TempDir,
}

impl Trace {
    /// Traces these calls in all threads of a running process. If tracing is not permitted, returns `None`
    /// and reports it with [`untested`].
    ///
    /// # Panics
    /// If strace neither attaches nor ends.
    #[track_caller]
    pub fn attach(pid: u32, calls: &[&str]) -> Option<Self> {
        if !is_possible() {
            return None;
        }
        let directory = TempDir::new().expect("temporary directory");
        let mut command = strace(&directory, calls);
        command.arg("-p").arg(pid.to_string());
        let mut trace = Self { strace: Child::spawn(command), directory };
        let mut follows = false;
        // strace prints this once it has all threads. Earlier calls would be missed.
        wait_until("strace follows", PATIENCE, || {
            let is_over = trace.strace.is_over();
            follows = trace.strace.output().iter().any(|line| line.contains(" attached"));
            follows || is_over
        });
        if !follows {
            untested(trace.strace.output().join(" "));
            return None;
        }
        Some(trace)
    }

    /// Stops tracing. Returns the calls since it began.
    ///
    /// # Panics
    /// If strace does not end.
    #[track_caller]
    pub fn end(mut self) -> Vec<String> {
        self.strace.signal(Signal::INT);
        self.strace.wait(PATIENCE);
        lines(&self.directory)
    }

    /// Runs a program to its end, with its arguments and the environment variables that are set in it.
    /// Returns its calls of these names. If tracing is not permitted, returns `None` and reports it with
    /// [`untested`].
    ///
    /// # Panics
    /// If the program fails.
    #[track_caller]
    pub fn of_run(program: &Command, calls: &[&str]) -> Option<Vec<String>> {
        if !is_possible() {
            return None;
        }
        let directory = TempDir::new().expect("temporary directory");
        let mut command = strace(&directory, calls);
        command.arg("--").arg(program.get_program()).args(program.get_args());
        let variables = program.get_envs();
        command.envs(variables.filter_map(|(name, value)| Some((name, value?))));
        let run = command.output().expect("run strace");
        assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
        Some(lines(&directory))
    }
}

/// Returns whether strace exists and may trace a child process.
fn is_possible() -> bool {
    match Command::new("strace").args(["-o", "/dev/null", "true"]).output() {
        Ok(done) if done.status.success() => true,
        Ok(done) => {
            untested(String::from_utf8_lossy(&done.stderr));
            false
        }
        Err(cause) => {
            untested(format_args!("strace: {cause}"));
            false
        }
    }
}

fn strace(directory: &TempDir, calls: &[&str]) -> Command {
    let mut command = Command::new("strace");
    command.arg("-f").arg("-y").arg("-o").arg(directory.path().join("calls"));
    // With `?`, strace ignores calls that the architecture does not have.
    let calls: Vec<_> = calls.iter().map(|call| format!("?{call}")).collect();
    command.arg("-e").arg(format!("trace={}", calls.join(",")));
    command
}

fn lines(directory: &TempDir) -> Vec<String> {
    let bytes = std::fs::read(directory.path().join("calls")).expect("strace writes");
    whole_calls(&String::from_utf8_lossy(&bytes))
}

/// Converts strace's output to one line for each call, in the order of their returns. strace splits a call in
/// two lines if another thread's output comes between.
fn whole_calls(told: &str) -> Vec<String> {
    const UNFINISHED: &str = " <unfinished ...>";
    let mut begun: BTreeMap<&str, String> = BTreeMap::new();
    let mut calls = Vec::new();
    for line in told.lines() {
        let (thread, rest) = line.split_once(' ').unwrap_or((line, ""));
        let end = rest.trim_start().strip_prefix("<... ").and_then(|rest| rest.split_once(" resumed>"));
        let beginning = end.and_then(|_| begun.remove(thread));
        let whole = match (beginning, end) {
            (Some(beginning), Some((_, end))) => beginning + end,
            _ => line.to_owned(),
        };
        match whole.strip_suffix(UNFINISHED) {
            Some(beginning) => {
                begun.insert(thread, beginning.to_owned());
            }
            None => calls.push(whole),
        }
    }
    // These calls were still running at the end.
    calls.extend(begun.into_values().map(|beginning| beginning + UNFINISHED));
    calls
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_that_another_thread_comes_in_between_is_one_line() {
        let told = "7     ioctl(5</to>, FICLONE, 4</from> <unfinished ...>\n\
                    81234 rename(\"a\", \"b\") = 0\n\
                    81234 read(3</x>,  <unfinished ...>\n\
                    7     <... ioctl resumed>) = -1 EOPNOTSUPP (Operation not supported)\n\
                    7     fsync(5</to> <unfinished ...>\n\
                    81234 <... read resumed>\"y\", 1) = 1\n";
        let calls = [
            "81234 rename(\"a\", \"b\") = 0",
            "7     ioctl(5</to>, FICLONE, 4</from>) = -1 EOPNOTSUPP (Operation not supported)",
            "81234 read(3</x>, \"y\", 1) = 1",
            "7     fsync(5</to> <unfinished ...>",
        ];
        assert_eq!(whole_calls(told), calls);
    }
}
