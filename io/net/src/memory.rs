//! Memory of the process: what a control group permits, what there is of it, and giving it back.

mod group;

use std::fs;

pub use group::{GroupMemory, group_memory};

/// Gives memory that was freed back to the kernel. glibc keeps what lies below the end of its heaps, however much it is, until it is told
/// to (malloc_trim(3)). May take some milliseconds for each hundred megabytes, in which other threads wait when they allocate.
#[allow(unsafe_code)]
pub fn return_freed_memory() {
    #[cfg(target_env = "gnu")]
    // SAFETY: the call takes no pointer, and glibc takes its own locks.
    unsafe {
        libc::malloc_trim(0);
    }
}

/// Memory of this process that is in RAM and that no file has, in bytes (statm, proc(5)).
pub fn own_memory() -> Option<u64> {
    let text = fs::read_to_string("/proc/self/statm").ok()?;
    let mut pages = text.split_ascii_whitespace().skip(1).map_while(|number| number.parse::<u64>().ok());
    let (resident, of_files) = (pages.next()?, pages.next()?);
    Some(resident.saturating_sub(of_files) * rustix::param::page_size() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_to_is_in_memory() {
        let before = own_memory().unwrap();
        let block = vec![1_u8; 64 << 20];
        let grown = own_memory().unwrap().saturating_sub(before);
        assert!(grown >= 48 << 20, "{grown} bytes for {}", block.len());
    }
}
