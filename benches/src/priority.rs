//! Which program runs when several could.

use std::process::Command;

use crate::error::{Context, Error, Result};

/// This thread, ahead of every ordinary program on its core for as long as this lives. It must sleep a lot.
#[derive(Debug)]
pub(crate) struct First;

impl First {
    /// Begins it (SCHED_FIFO, sched(7)).
    ///
    /// # Errors
    /// `chrt` of util-linux is missing, or real-time priority is not permitted.
    pub(crate) fn on_this_core() -> Result<Self> {
        schedule(["--fifo", "--pid", "10"])?;
        Ok(Self)
    }
}

impl Drop for First {
    fn drop(&mut self) {
        // It was permitted to rise, so it may fall.
        let _ = schedule(["--other", "--pid", "0"]);
    }
}

fn schedule(arguments: [&str; 3]) -> Result<()> {
    let thread = rustix::thread::gettid().as_raw_nonzero().to_string();
    let done = Command::new("chrt").args(arguments).arg(thread).output().context("chrt")?;
    if done.status.success() {
        return Ok(());
    }
    Err(Error::new(format!("real-time priority: {}", String::from_utf8_lossy(&done.stderr).trim())))
}
