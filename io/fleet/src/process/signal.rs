//! Signals that reach the process they are meant for.

use rustix::process::{Pid, PidfdFlags, Signal, kill_process_group, pidfd_open, pidfd_send_signal};

use super::procfs::{self, Mark};
use super::settings::MACHINE_VARIABLE;

/// Asks a process and its group to end.
pub(super) fn ask_to_end(mark: Mark) {
    group(mark, Signal::TERM);
}

/// Ends a process, its group, and whatever else it has started and left behind.
pub(super) fn end(mark: Mark, name: &str) {
    group(mark, Signal::KILL);
    end_rest(name);
}

/// Ends what carries this name. A process that is just being made, or becomes another program, is not seen for a moment: so it is
/// looked at twice at least, and again as long as there was something.
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
    // As long as its leader is alive, the group is that of this process: each is started as the leader of its own.
    if let Some(pid) = Pid::from_raw(mark.pid).filter(|_| mark.is_alive()) {
        // It may end at any time; that is what is wanted.
        let _ = kill_process_group(pid, signal);
    }
}

fn one(mark: Mark, signal: Signal) {
    let Some(pid) = Pid::from_raw(mark.pid) else { return };
    // The descriptor stands for one process; looked at after it is open, the number cannot have gone to another.
    let Ok(descriptor) = pidfd_open(pid, PidfdFlags::empty()) else { return };
    if mark.is_alive() {
        let _ = pidfd_send_signal(&descriptor, signal);
    }
}
