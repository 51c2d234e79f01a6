//! Data that the kernel provides about a process.

use std::fs;

/// Returns the number of open descriptors of a process.
pub fn descriptor_count(pid: u32) -> usize {
    fs::read_dir(format!("/proc/{pid}/fd")).expect("process is there and ours").count()
}

/// Returns the resident memory of a process, in bytes.
pub fn rss_bytes(pid: u32) -> u64 {
    status_number(pid, "VmRSS:") * 1024
}

/// Returns the peak resident memory of a process, in bytes.
pub fn peak_rss_bytes(pid: u32) -> u64 {
    status_number(pid, "VmHWM:") * 1024
}

/// Returns the number of threads of a process.
pub fn thread_count(pid: u32) -> u64 {
    status_number(pid, "Threads:")
}

/// Returns the CPU time, in nanoseconds, of the threads whose names begin with `name`. Ended threads are not
/// included.
pub fn threads_cpu_ns(pid: u32, name: &str) -> u64 {
    let threads = fs::read_dir(format!("/proc/{pid}/task")).expect("process is there and ours");
    let used = threads.map(|thread| {
        let thread = thread.expect("threads can be listed").path();
        // The thread may have ended meanwhile.
        let read = |file: &str| fs::read_to_string(thread.join(file)).unwrap_or_default();
        let account = if read("comm").starts_with(name) { read("schedstat") } else { String::new() };
        account.split_whitespace().next().and_then(|number| number.parse::<u64>().ok()).unwrap_or_default()
    });
    used.sum()
}

/// Returns whether all threads of a process are stopped (SIGSTOP), which takes a moment.
pub fn is_stopped(pid: u32) -> bool {
    let mut threads = fs::read_dir(format!("/proc/{pid}/task")).expect("process is there and ours");
    threads.all(|thread| {
        let stat = thread.expect("threads can be listed").path().join("stat");
        // The state follows the name, which may contain brackets itself (proc_pid_stat(5)). An ended thread
        // counts as stopped.
        let text = fs::read_to_string(stat).unwrap_or_else(|_| "() T".to_owned());
        text.rsplit_once(") ").is_some_and(|(_, rest)| rest.starts_with('T'))
    })
}

fn status_number(pid: u32, field: &str) -> u64 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).expect("process is there");
    let line = status.lines().find_map(|line| line.strip_prefix(field)).expect("field is there");
    line.split_whitespace().next().and_then(|number| number.parse().ok()).expect("field is a number")
}
