//! Memory of the process: its limit, its use, and the return of freed memory.

mod group;

use std::fs;

pub use group::{GroupMemory, group_memory};

/// Returns freed memory to the kernel (malloc_trim(3)). Otherwise glibc keeps any amount of memory below the
/// end of its heaps. May take some milliseconds per hundred megabytes; other threads that allocate wait
/// meanwhile.
#[allow(unsafe_code)]
pub fn return_freed_memory() {
    #[cfg(target_env = "gnu")]
    // SAFETY: the call takes no pointer, and glibc takes its own locks.
    unsafe {
        libc::malloc_trim(0);
    }
}

/// Returns the resident memory of this process that does not belong to files, in bytes (statm, proc(5)).
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
