//! Real-time priority for the threads that generate load.

use std::process::{Command, Stdio};

/// Gives this thread priority over every ordinary program (SCHED_FIFO, sched(7)). If client, balancer and
/// servers share processors, a client with ordinary priority would include its own wait for a CPU in the
/// latency. The thread must sleep most of the time. Returns false if this is not permitted, or if `chrt`
/// (util-linux) is missing.
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
            // Field 41 of proc_pid_stat(5). The second field, in parentheses, may contain spaces.
            let stat = std::fs::read_to_string(path).unwrap();
            stat.rsplit_once(')').unwrap().1.split_ascii_whitespace().nth(38).unwrap().to_owned()
        };
        let (permitted, seen) =
            std::thread::spawn(move || (run_ahead(), policy("/proc/thread-self/stat"))).join().unwrap();
        assert_eq!(seen, if permitted { "1" } else { "0" });
        assert_eq!(policy("/proc/thread-self/stat"), "0");
    }
}
