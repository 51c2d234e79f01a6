//! Keeps processors from falling asleep: one that is woken by its hypervisor, or from a deep state, may come back milliseconds later, and
//! that would be measured in whoever was waiting on it.

use std::path::Path;

use crate::error::Result;
use crate::process::{Cores, Process};
use crate::workshop::Workshop;

/// A loop on either core that gives way to everything at once (SCHED_IDLE, sched(7)), for as long as this lives, or this program.
#[derive(Debug)]
pub(crate) struct Awake {
    _loops: [Process; 2],
}

impl Awake {
    /// Begins it.
    ///
    /// # Errors
    /// `chrt` of util-linux, or a shell, cannot be started.
    pub(crate) fn keep(workshop: &Workshop) -> Result<Self> {
        let spin = |cores: Cores, log: &str| {
            let mut command = cores.command(Path::new("chrt"));
            command.args(["--idle", "0", "sh", "-c", "while kill -0 $PPID; do :; done"]);
            Process::start("a loop that keeps a processor awake", &mut command, None, &workshop.path(log))
        };
        Ok(Self { _loops: [spin(Cores::Balancer, "awake-0.log")?, spin(Cores::Load, "awake-1.log")?] })
    }
}
