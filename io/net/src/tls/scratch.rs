//! Scratch buffers for ciphertext.

use std::cell::RefCell;

use crate::PageBuffer;

/// Maximum size of one read from a socket, in bytes. Larger reads need fewer calls, but their data leaves the
/// core's cache before it is decrypted.
pub(super) const READ_MAX: usize = 64 * 1024;
/// Maximum ciphertext that waits for the rest of its message: the longest handshake message that rustls
/// accepts. A record has at most 18 KiB.
pub(super) const UNPROCESSED_MAX: usize = 64 * 1024;
/// Plaintext is encrypted and sent in portions of this many bytes: four full records.
pub(super) const WRITE_PORTION: usize = 64 * 1024;
/// Maximum overhead of one portion: headers, nonces, tags, a key update, an alert.
const WRITE_OVERHEAD: usize = 2 * 1024;

/// Buffers for received and outgoing ciphertext. There is one pair per thread, so that connections own none.
/// Must not be held across an await.
pub(super) struct Scratch {
    /// Buffer for reads.
    pub(super) incoming: PageBuffer,
    /// Buffer for writes.
    pub(super) outgoing: PageBuffer,
}

thread_local! {
    static SCRATCH: RefCell<Scratch> = RefCell::new(Scratch {
        incoming: PageBuffer::zeroed(UNPROCESSED_MAX + READ_MAX),
        outgoing: PageBuffer::zeroed(WRITE_PORTION + WRITE_OVERHEAD),
    });
}

/// Calls `work` with the thread's scratch buffers. `work` must not call this function.
pub(super) fn with<T>(work: impl FnOnce(&mut Scratch) -> T) -> T {
    SCRATCH.with_borrow_mut(work)
}
