//! The memory for responses, limited for all clients together.

use std::sync::Arc;
use std::time::Duration;

use hyper::body::Bytes;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, timeout};

use super::places::{Answering, LOOK, Places};

/// Memory for responses that clients have not read yet, in KiB. A longer response uses all of it.
const KIB_MAX: u32 = 64 * 1024;

/// Maximum number of further responses that are being written or wait for memory.
const WRITERS_MAX: usize = 2;

/// Maximum time that a response waits for memory.
const WAIT_MAX: Duration = Duration::from_secs(15);

/// Memory budget of all responses.
#[derive(Debug)]
pub(super) struct Memory {
    places: Arc<Places>,
    kib: Arc<Semaphore>,
    writers: Arc<Semaphore>,
}

/// A response that its client has not read yet.
struct Held {
    bytes: Vec<u8>,
    _memory: OwnedSemaphorePermit,
    _answering: Answering,
}

impl AsRef<[u8]> for Held {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl Memory {
    pub(super) fn new(places: Arc<Places>) -> Self {
        let kib = Arc::new(Semaphore::new(KIB_MAX as usize));
        Self { places, kib, writers: Arc::new(Semaphore::new(WRITERS_MAX)) }
    }

    /// Returns the permit to write a response; [`Memory::hold`] consumes it.
    pub(super) async fn writer(&self) -> Option<OwnedSemaphorePermit> {
        Arc::clone(&self.writers).acquire_owned().await.ok()
    }

    /// Holds a response until its client has read it; `None` = there was no memory in time.
    pub(super) async fn hold(
        &self,
        bytes: Vec<u8>,
        answering: Answering,
        writer: OwnedSemaphorePermit,
    ) -> Option<Bytes> {
        let kib = u32::try_from(bytes.len() / 1024 + 1).unwrap_or(KIB_MAX).min(KIB_MAX);
        let end = Instant::now() + WAIT_MAX;
        // A single request for the whole time keeps its position in the queue.
        let mut memory = std::pin::pin!(Arc::clone(&self.kib).acquire_many_owned(kib));
        let memory = loop {
            match timeout(LOOK, memory.as_mut()).await {
                Ok(memory) => break memory.ok()?,
                Err(_) if Instant::now() >= end => return None,
                Err(_) => self.places.evict_slow(),
            }
        };
        drop(writer);
        Some(Bytes::from_owner(Held { bytes, _memory: memory, _answering: answering }))
    }
}
