//! Reads the amount of memory that this process can still get, from the machine and from the limits of its
//! control groups.

use std::fs;

use weir_net::{GroupMemory, group_memory};

/// Returns the available memory, in bytes; `None` = unknown.
pub(super) fn available() -> Option<u64> {
    let left = [of_machine(), group_memory().as_ref().map(GroupMemory::left)];
    left.into_iter().flatten().min()
}

/// Returns the memory that is available without swapping (MemAvailable, proc_meminfo(5)).
fn of_machine() -> Option<u64> {
    let text = fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    line.split_ascii_whitespace().next()?.parse::<u64>().ok().map(|kib| kib * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_machine_says_what_it_has() {
        assert!(available().unwrap() > 0);
    }
}
