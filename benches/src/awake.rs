//! Keeps processors awake. A processor that its hypervisor wakes, or that leaves a deep sleep state, may
//! return milliseconds later. That delay would appear in the measurement.

use std::path::Path;

use crate::error::Result;
use crate::process::{Cores, Process};
use crate::workshop::Workshop;

/// A busy loop on each core at the lowest priority (SCHED_IDLE, sched(7)). The loops end with this value or
/// this program.
#[derive(Debug)]
pub(crate) struct Awake {
    _loops: [Process; 2],
}

impl Awake {
    /// Starts the loops.
    ///
    /// # Errors
    /// If `chrt` of util-linux, or a shell, cannot be started.
    pub(crate) fn keep(workshop: &Workshop) -> Result<Self> {
        let spin = |cores: Cores, log: &str| {
            let mut command = cores.command(Path::new("chrt"));
            command.args(["--idle", "0", "sh", "-c", "while kill -0 $PPID; do :; done"]);
            Process::start("a loop that keeps a processor awake", &mut command, None, &workshop.path(log))
        };
        Ok(Self { _loops: [spin(Cores::Balancer, "awake-0.log")?, spin(Cores::Load, "awake-1.log")?] })
    }
}
