//! What the kernel says of a process.

use std::fs;

/// Descriptors that the process has open.
pub fn descriptor_count(pid: u32) -> usize {
    fs::read_dir(format!("/proc/{pid}/fd")).expect("process is there and ours").count()
}

/// Its resident memory, in bytes.
pub fn rss_bytes(pid: u32) -> u64 {
    status_number(pid, "VmRSS:") * 1024
}

/// The most resident memory that it has ever had, in bytes.
pub fn peak_rss_bytes(pid: u32) -> u64 {
    status_number(pid, "VmHWM:") * 1024
}

/// Its threads.
pub fn thread_count(pid: u32) -> u64 {
    status_number(pid, "Threads:")
}

fn status_number(pid: u32, field: &str) -> u64 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).expect("process is there");
    let line = status.lines().find_map(|line| line.strip_prefix(field)).expect("field is there");
    line.split_whitespace().next().and_then(|number| number.parse().ok()).expect("field is a number")
}
