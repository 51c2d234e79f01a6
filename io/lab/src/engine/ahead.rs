//! Which program runs when several could.

use std::process::{Command, Stdio};

/// Has this thread run ahead of every ordinary program (SCHED_FIFO, sched(7)): where client, balancer and servers share processors, a
/// client that waits for its turn would measure that. It must sleep a lot. False: that is not permitted, or there is no `chrt` (util-linux).
pub(super) fn run_ahead() -> bool {
    let thread = rustix::thread::gettid().as_raw_nonzero().to_string();
    let mut command = Command::new("chrt");
    command.args(["--fifo", "--pid", "1", &thread]);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_that_runs_ahead_is_scheduled_so_and_no_other_is() {
        let policy = |path: &str| {
            // Field 41 of proc_pid_stat(5); the second, in brackets, may have spaces in it.
            let stat = std::fs::read_to_string(path).unwrap();
            stat.rsplit_once(')').unwrap().1.split_ascii_whitespace().nth(38).unwrap().to_owned()
        };
        let (permitted, seen) =
            std::thread::spawn(move || (run_ahead(), policy("/proc/thread-self/stat"))).join().unwrap();
        assert_eq!(seen, if permitted { "1" } else { "0" });
        assert_eq!(policy("/proc/thread-self/stat"), "0");
    }
}
