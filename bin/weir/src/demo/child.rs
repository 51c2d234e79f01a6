//! Runs a child process of the demo, reads its output, and makes sure that it ends.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, Write};
use std::process::{ExitStatus, Stdio};
use std::rc::Rc;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use tokio::io::{AsyncBufReadExt, AsyncRead, BufReader};
use tokio::process::{Child as Process, Command};
use tokio::sync::Notify;
use tokio::time::timeout;

use super::leash;

/// Time limit for a start. A start takes a fraction of a second, but longer on a machine under heavy load.
const START_MAX: Duration = Duration::from_secs(30);

/// Number of output lines kept for error messages.
const LINES_MAX: usize = 50;

/// Child process that runs this program. It is killed when dropped.
#[derive(Debug)]
pub(super) struct Child {
    name: String,
    process: Process,
    pid: u32,
    output: Rc<Output>,
}

/// Last lines that a child wrote.
#[derive(Debug, Default)]
struct Output {
    lines: RefCell<VecDeque<String>>,
    /// Notified when a line is added or a reader ends.
    news: Notify,
    readers: RefCell<usize>,
}

impl Child {
    /// Starts `weir ARGUMENTS`. Messages call it `name`. Its output is also appended to `log`. Must be called
    /// within a [`tokio::task::LocalSet`].
    pub(super) fn start(name: &str, arguments: &[String], log: &File) -> Result<Self, String> {
        let launch = || {
            let mut command = Command::from(leash::command(arguments)?);
            command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
            // Ctrl-C in the terminal must reach only the demo, which then ends its children in order.
            command.process_group(0);
            let mut process = command.spawn()?;
            let pid = process.id().ok_or_else(|| io::Error::other("no process id"))?;
            let output = Rc::default();
            if let Some(stdout) = process.stdout.take() {
                collect(stdout, name, log, &output)?;
            }
            if let Some(stderr) = process.stderr.take() {
                collect(stderr, name, log, &output)?;
            }
            Ok(Self { name: name.to_owned(), process, pid, output })
        };
        launch().map_err(|error: io::Error| format!("start {name}: {error}"))
    }

    /// Returns the process id, which the system does not reuse while this value exists.
    pub(super) fn pid(&self) -> u32 {
        self.pid
    }

    /// Applies `wanted` to each line and returns the first value that it finds. Returns an error if it finds
    /// none within [`START_MAX`], or the process ends without one.
    pub(super) async fn wait_for<T>(&self, wanted: impl Fn(&str) -> Option<T>) -> Result<T, String> {
        let search = async {
            loop {
                // Checked before the lines are searched, so that all lines before the end are searched.
                let over = *self.output.readers.borrow() == 0;
                let found = self.output.lines.borrow().iter().find_map(|line| wanted(line));
                if found.is_some() || over {
                    return found;
                }
                self.output.news.notified().await;
            }
        };
        match timeout(START_MAX, search).await {
            Ok(Some(found)) => Ok(found),
            Ok(None) => Err(format!("{} did not start:\n{}", self.name, self.said())),
            Err(_) => {
                Err(format!("{} was not ready within {} s:\n{}", self.name, START_MAX.as_secs(), self.said()))
            }
        }
    }

    /// Returns the last lines that it wrote.
    pub(super) fn said(&self) -> String {
        self.output.lines.borrow().iter().cloned().collect::<Vec<_>>().join("\n")
    }

    /// Returns the exit status if the process has ended. Call it from time to time: the process stays a
    /// zombie until then.
    pub(super) fn ended(&mut self) -> Option<ExitStatus> {
        // Waiting for a child of this process does not fail.
        self.process.try_wait().ok().flatten()
    }

    /// Kills the process.
    pub(super) fn kill(&mut self) -> Result<(), String> {
        self.process.start_kill().map_err(|error| format!("kill {}: {error}", self.name))
    }

    /// Sends SIGTERM to the process, and kills it if it has not ended within `patience`.
    pub(super) async fn stop(&mut self, patience: Duration) {
        if self.ended().is_none() {
            if let Some(pid) = i32::try_from(self.pid).ok().and_then(Pid::from_raw) {
                // The process may have ended in the meantime.
                let _ = kill_process(pid, Signal::TERM);
            }
            if timeout(patience, self.process.wait()).await.is_err() {
                let _ = self.process.kill().await;
            }
        }
    }
}

/// Reads the child's output until its end of the pipe is closed.
fn collect(
    pipe: impl AsyncRead + Unpin + 'static,
    name: &str,
    log: &File,
    output: &Rc<Output>,
) -> io::Result<()> {
    let mut log = log.try_clone()?;
    let (name, output) = (name.to_owned(), Rc::clone(output));
    *output.readers.borrow_mut() += 1;
    tokio::task::spawn_local(async move {
        let mut lines = BufReader::new(pipe).lines();
        while let Ok(Some(line)) = lines.next_line().await {
            // The log is a convenience; a full disk does not end the demo.
            let _ = log.write_all(format!("{name}: {line}\n").as_bytes());
            let mut kept = output.lines.borrow_mut();
            if kept.len() == LINES_MAX {
                kept.pop_front();
            }
            kept.push_back(line);
            output.news.notify_one();
        }
        *output.readers.borrow_mut() -= 1;
        output.news.notify_one();
    });
    Ok(())
}
