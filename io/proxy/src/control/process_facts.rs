//! Facts about this process from the kernel (proc(5)).

use std::fs;
use std::os::unix::fs::MetadataExt;

use rustix::process::{Resource, getrlimit};

/// Returns the resident memory in bytes.
pub(super) fn memory_bytes() -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kib * 1024)
}

/// Returns the number of open descriptors. Linux has it ready since version 6.2. For older kernels this
/// returns `None`, because counting takes long exactly when there are many.
pub(super) fn descriptors_open() -> Option<u64> {
    fs::metadata("/proc/self/fd").ok().map(|directory| directory.size()).filter(|open| *open > 0)
}

/// Returns the maximum number of open descriptors.
pub(super) fn descriptors_limit() -> Option<u64> {
    getrlimit(Resource::Nofile).current
}

/// Returns the machine's host name.
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
