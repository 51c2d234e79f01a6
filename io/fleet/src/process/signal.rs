//! Signals to processes that cannot reach another process with the same pid.

use rustix::process::{Pid, PidfdFlags, Signal, kill_process_group, pidfd_open, pidfd_send_signal};

use super::procfs::{self, Mark};
use super::settings::MACHINE_VARIABLE;

/// Asks a process and its group to end.
pub(super) fn ask_to_end(mark: Mark) {
    group(mark, Signal::TERM);
}

/// Kills a process, its group, and its other descendants.
pub(super) fn end(mark: Mark, name: &str) {
    group(mark, Signal::KILL);
    end_rest(name);
}

/// Kills all processes with this name. A process is briefly invisible during its fork or exec. The search is
/// therefore repeated until it finds nothing twice in a row.
pub(super) fn end_rest(name: &str) {
    const LOOKS_MAX: usize = 10;

    let mut quiet = 0;
    for _ in 0..LOOKS_MAX {
        let found = procfs::carriers(MACHINE_VARIABLE);
        let rest: Vec<_> = found.into_iter().filter(|carrier| carrier.value == name).collect();
        for carrier in &rest {
            one(carrier.mark, Signal::KILL);
        }
        quiet = if rest.is_empty() { quiet + 1 } else { 0 };
        if quiet == 2 {
            return;
        }
    }
}

fn group(mark: Mark, signal: Signal) {
    // While its leader is alive, the group belongs to this process, because each is started as the leader of
    // its own group.
    if let Some(pid) = Pid::from_raw(mark.pid).filter(|_| mark.is_alive()) {
        // The process may end at any time, so an error is ignored.
        let _ = kill_process_group(pid, signal);
    }
}

fn one(mark: Mark, signal: Signal) {
    let Some(pid) = Pid::from_raw(mark.pid) else { return };
    // The descriptor stands for one process. If the check after opening it succeeds, the pid cannot belong to
    // another process.
    let Ok(descriptor) = pidfd_open(pid, PidfdFlags::empty()) else { return };
    if mark.is_alive() {
        let _ = pidfd_send_signal(&descriptor, signal);
    }
}
