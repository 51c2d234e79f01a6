//! What the kernel says of this process (proc(5)).

use std::fs;
use std::os::unix::fs::MetadataExt;

use rustix::process::{Resource, getrlimit};

/// Resident memory.
pub(super) fn memory_bytes() -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kib * 1024)
}

/// Open descriptors. From Linux 6.2 on the kernel has the number ready; before, it is not known: to count them would take
/// long just when there are many.
pub(super) fn descriptors_open() -> Option<u64> {
    fs::metadata("/proc/self/fd").ok().map(|directory| directory.size()).filter(|open| *open > 0)
}

/// How many descriptors may be open.
pub(super) fn descriptors_limit() -> Option<u64> {
    getrlimit(Resource::Nofile).current
}

/// The machine's name.
pub(super) fn host() -> String {
    let name = fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    name.trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernel_knows_memory_and_descriptors() {
        assert!(memory_bytes().is_some_and(|bytes| bytes > 1 << 20));
        let limit = descriptors_limit().unwrap_or(u64::MAX);
        assert!(descriptors_open().is_none_or(|open| open >= 3 && open <= limit));
        assert!(!host().is_empty());
    }
}
