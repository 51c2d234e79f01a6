/// Has the processor fetch the line of memory where `of` begins, and goes on without it. A hint: nothing changes but how long the next
/// look takes. Does nothing on processors that have no such instruction here.
#[inline]
#[allow(unsafe_code)]
pub fn prefetch<T>(of: &T) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: the instruction is part of every x86-64 (SSE), and permits any address.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(std::ptr::from_ref(of).cast()) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = of;
}
