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
