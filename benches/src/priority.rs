//! Real-time priority of threads and programs.

use std::process::Command;

use crate::cpu;
use crate::error::{Context, Error, Result};

/// A thread of this program that runs before every ordinary program on its core while this lives. It must
/// sleep often.
#[derive(Debug)]
pub(crate) struct First(u32);

impl First {
    /// Raises the priority of this thread (SCHED_FIFO, sched(7)).
    ///
    /// # Errors
    /// If `chrt` of util-linux is missing, or real-time priority is not permitted.
    pub(crate) fn on_this_core() -> Result<Self> {
        Self::of(this_thread())
    }

    /// Raises the priority of the thread with this kernel id.
    ///
    /// # Errors
    /// As [`on_this_core`](Self::on_this_core).
    pub(crate) fn of(thread: u32) -> Result<Self> {
        schedule(&["--fifo", "--pid", "10"], thread)?;
        Ok(Self(thread))
    }
}

impl Drop for First {
    fn drop(&mut self) {
        // Lowering the priority is permitted, because raising it was.
        let _ = schedule(&["--other", "--pid", "0"], self.0);
    }
}

/// Programs that run before all ordinary programs and kernel threads on their cores while this lives.
#[derive(Debug)]
pub(crate) struct Ahead(Vec<u32>);

impl Ahead {
    /// Raises the priority of all threads of these processes and their descendants (SCHED_FIFO, sched(7)),
    /// below [`First`].
    ///
    /// # Errors
    /// If `chrt` of util-linux is missing, or real-time priority is not permitted.
    pub(crate) fn of(pids: &[u32]) -> Result<Self> {
        let mut ahead = Self(Vec::new());
        for member in pids.iter().flat_map(|pid| cpu::family(*pid)) {
            schedule(&["--fifo", "--all-tasks", "--pid", "1"], member)?;
            ahead.0.push(member);
        }
        Ok(ahead)
    }
}

impl Drop for Ahead {
    fn drop(&mut self) {
        for member in &self.0 {
            // It may have ended by itself.
            let _ = schedule(&["--other", "--all-tasks", "--pid", "0"], *member);
        }
    }
}

/// Returns the kernel id of this thread.
pub(crate) fn this_thread() -> u32 {
    rustix::thread::gettid().as_raw_nonzero().get().unsigned_abs()
}

fn schedule(arguments: &[&str], id: u32) -> Result<()> {
    let done = Command::new("chrt").args(arguments).arg(id.to_string()).output().context("chrt")?;
    if done.status.success() {
        return Ok(());
    }
    Err(Error::new(format!("real-time priority: {}", String::from_utf8_lossy(&done.stderr).trim())))
}
