//! Child processes that end with their test.

use std::io::{BufRead, BufReader, Read};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

pub use rustix::process::Signal;
use rustix::process::{Pid, kill_process};

use crate::wait::wait_until;

/// A process that is killed when this is dropped, so that it does not outlive its test. Its output is
/// captured, and printed if the test fails.
#[derive(Debug)]
pub struct Child {
    child: std::process::Child,
    name: String,
    lines: Arc<Mutex<Vec<String>>>,
    readers: Vec<JoinHandle<()>>,
    exit: Option<ExitStatus>,
}

impl Child {
    /// Starts the process with its standard input closed and its output captured.
    ///
    /// # Panics
    /// If it cannot be started.
    #[track_caller]
    pub fn spawn(mut command: Command) -> Self {
        let name = command.get_program().to_string_lossy().into_owned();
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap_or_else(|cause| panic!("start {name}: {cause}"));
        let lines = Arc::default();
        let readers = vec![
            collect(child.stdout.take().expect("piped"), &lines),
            collect(child.stderr.take().expect("piped"), &lines),
        ];
        Self { child, name, lines, readers, exit: None }
    }

    /// Returns its process id.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Returns the lines of its standard output and standard error so far.
    pub fn output(&self) -> Vec<String> {
        lock(&self.lines).clone()
    }

    /// Returns the first line, so far or later, that `wanted` accepts.
    ///
    /// # Panics
    /// If there is none within `deadline`, or the process ends without one.
    #[track_caller]
    pub fn wait_for_line(&mut self, deadline: Duration, wanted: impl Fn(&str) -> bool) -> String {
        let mut found = None;
        wait_until(&format!("{}: the line that was waited for", self.name), deadline, || {
            // Checks the end first, so that all output written before the end is read.
            let over = self.is_over();
            found = self.output().into_iter().find(|line| wanted(line));
            assert!(found.is_some() || !over, "{} ended: {:?}", self.name, self.exit);
            found.is_some()
        });
        found.unwrap_or_default()
    }

    /// Sends a signal.
    ///
    /// # Panics
    /// If the process has ended.
    #[track_caller]
    pub fn signal(&self, signal: Signal) {
        let pid = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw).expect("a process id");
        kill_process(pid, signal).unwrap_or_else(|cause| panic!("signal {}: {cause}", self.name));
    }

    /// Returns whether it has ended and all its output was read.
    pub fn is_over(&mut self) -> bool {
        if self.exit.is_none() {
            self.exit = self.child.try_wait().expect("wait");
        }
        self.exit.is_some() && self.readers.iter().all(JoinHandle::is_finished)
    }

    /// Waits for its end.
    ///
    /// # Panics
    /// If it does not end within `deadline`.
    #[track_caller]
    pub fn wait(&mut self, deadline: Duration) -> ExitStatus {
        wait_until(&format!("the end of {}", self.name), deadline, || self.is_over());
        self.exit.expect("over")
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        if self.exit.is_none() {
            // This fails only if the process has already ended.
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
        if thread::panicking() {
            for line in self.output() {
                eprintln!("{}: {line}", self.name);
            }
        }
    }
}

fn collect(output: impl Read + Send + 'static, lines: &Arc<Mutex<Vec<String>>>) -> JoinHandle<()> {
    let lines = Arc::clone(lines);
    thread::spawn(move || {
        let mut output = BufReader::new(output);
        let mut line = Vec::new();
        while output.read_until(b'\n', &mut line).is_ok_and(|count| count > 0) {
            lock(&lines).push(String::from_utf8_lossy(&line).trim_end().to_owned());
            line.clear();
        }
    })
}

fn lock(lines: &Mutex<Vec<String>>) -> MutexGuard<'_, Vec<String>> {
    lines.lock().unwrap_or_else(PoisonError::into_inner)
}
