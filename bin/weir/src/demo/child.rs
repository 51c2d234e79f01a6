//! A child process of the demo: what it says, how it ends, and that it does end.

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

/// A start takes a fraction of a second; a machine under heavy load gets time.
const START_MAX: Duration = Duration::from_secs(30);

/// What is kept of its output, for error messages.
const LINES_MAX: usize = 50;

/// This program as a process of its own. It is killed when dropped.
#[derive(Debug)]
pub(super) struct Child {
    name: String,
    process: Process,
    pid: u32,
    output: Rc<Output>,
}

/// The last lines that a child wrote.
#[derive(Debug, Default)]
struct Output {
    lines: RefCell<VecDeque<String>>,
    /// There is a line more, or one reader less.
    news: Notify,
    readers: RefCell<usize>,
}

impl Child {
    /// Starts `weir ARGUMENTS`, called `name` in messages. What it writes is also appended to `log`. Within a
    /// [`tokio::task::LocalSet`].
    pub(super) fn start(name: &str, arguments: &[String], log: &File) -> Result<Self, String> {
        let launch = || {
            let mut command = Command::from(leash::command(arguments)?);
            command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
            // Ctrl-C in the terminal is for the demo, which ends its children in order.
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

    /// Its process id; of nobody else while this exists.
    pub(super) fn pid(&self) -> u32 {
        self.pid
    }

    /// What `wanted` finds in the first of its lines in which it finds anything. An error if there is none within
    /// [`START_MAX`], or it ends without one.
    pub(super) async fn wait_for<T>(&self, wanted: impl Fn(&str) -> Option<T>) -> Result<T, String> {
        let search = async {
            loop {
                // Asked before looking: what came before the end is then here.
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

    /// The last lines that it wrote.
    pub(super) fn said(&self) -> String {
        self.output.lines.borrow().iter().cloned().collect::<Vec<_>>().join("\n")
    }

    /// How it ended, if it did. To be asked now and then: until then the dead process stays in the system's list.
    pub(super) fn ended(&mut self) -> Option<ExitStatus> {
        // Waiting for one's own child does not fail.
        self.process.try_wait().ok().flatten()
    }

    /// Kills it.
    pub(super) fn kill(&mut self) -> Result<(), String> {
        self.process.start_kill().map_err(|error| format!("kill {}: {error}", self.name))
    }

    /// Asks it to end, and kills it if it has not within `patience`.
    pub(super) async fn stop(&mut self, patience: Duration) {
        if self.ended().is_none() {
            if let Some(pid) = i32::try_from(self.pid).ok().and_then(Pid::from_raw) {
                // It may have ended just now.
                let _ = kill_process(pid, Signal::TERM);
            }
            if timeout(patience, self.process.wait()).await.is_err() {
                let _ = self.process.kill().await;
            }
        }
    }
}

/// Reads what the child writes, until its end of the pipe is closed.
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
