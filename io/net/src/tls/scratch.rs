use std::cell::RefCell;

use crate::PageBuffer;

/// The most that one read takes from a socket, in bytes. Larger reads cost fewer calls but fall out of the core's cache
/// before they are decrypted.
pub(super) const READ_MAX: usize = 64 * 1024;
/// The most ciphertext that may wait for the rest of its message: the longest handshake message that rustls accepts.
/// A record is at most 18 KiB.
pub(super) const UNPROCESSED_MAX: usize = 64 * 1024;
/// Plaintext is encrypted and sent in portions of this many bytes: four full records.
pub(super) const WRITE_PORTION: usize = 64 * 1024;
/// What rustls may put around the plaintext of one portion: headers, nonces, tags, a key update, an alert.
const WRITE_OVERHEAD: usize = 2 * 1024;

/// Ciphertext on its way in and out. One per thread, so that connections own none; never held across an await.
pub(super) struct Scratch {
    /// For what was read.
    pub(super) incoming: PageBuffer,
    /// For what is to be written.
    pub(super) outgoing: PageBuffer,
}

thread_local! {
    static SCRATCH: RefCell<Scratch> = RefCell::new(Scratch {
        incoming: PageBuffer::zeroed(UNPROCESSED_MAX + READ_MAX),
        outgoing: PageBuffer::zeroed(WRITE_PORTION + WRITE_OVERHEAD),
    });
}

/// Lends the thread's scratch. `work` must not come back here.
pub(super) fn with<T>(work: impl FnOnce(&mut Scratch) -> T) -> T {
    SCRATCH.with_borrow_mut(work)
}
