//! State that all parts of a third-party copy share.

use std::sync::Arc;

use weir_dav::third_party::TransferRequest;
use weir_storage::StorageError;

use crate::area::Area;
use crate::client::{Fault, Incoming};
use crate::dav::Act;
use crate::transfers::Desk;
use crate::transfers::Live;

/// State that all parts of one transfer need.
#[derive(Clone)]
pub(super) struct Job {
    pub(super) act: Act,
    pub(super) desk: Arc<Desk>,
    pub(super) request: TransferRequest,
    pub(super) live: Arc<Live>,
}

/// Size of the portions that are written at once. While a thread writes one, the next is received.
pub(super) const PORTION_BYTES: usize = 512 * 1024;

impl Job {
    pub(super) fn area(&self) -> &Arc<Area> {
        &self.act.asker.area
    }

    /// Counts moved bytes and waits as the area's rate limit requires.
    pub(super) async fn moved(&self, bytes: usize) {
        self.live.add(bytes);
        if let Some(pacer) = &self.desk.pacer {
            pacer.moved(bytes).await;
        }
    }

    /// Fills a buffer from a body. Returns the received bytes, and an error if the body was cut off. A short
    /// buffer without an error is the body's end.
    pub(super) async fn fill(&self, body: &mut Incoming, mut buffer: Vec<u8>) -> (Vec<u8>, Option<Fault>) {
        let mut filled = 0;
        let mut fault = None;
        while filled < buffer.len() {
            match body.read(&mut buffer[filled..]).await {
                Ok(0) => break,
                Ok(read) => {
                    filled += read;
                    self.moved(read).await;
                }
                Err(broken) => {
                    fault = Some(broken);
                    break;
                }
            }
        }
        buffer.truncate(filled);
        (buffer, fault)
    }
}

/// Marks a storage error as one of this server, not of the remote one.
pub(super) fn of_storage(error: StorageError) -> Fault {
    Fault::lasting(format!("here: {error}"))
}
