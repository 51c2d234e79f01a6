use std::sync::Arc;

use weir_dav::third_party::TransferRequest;
use weir_storage::StorageError;

use crate::area::Area;
use crate::client::{Fault, Incoming};
use crate::dav::Act;
use crate::transfers::Desk;
use crate::transfers::Live;

/// What all parts of one transfer need.
#[derive(Clone)]
pub(super) struct Job {
    pub(super) act: Act,
    pub(super) desk: Arc<Desk>,
    pub(super) request: TransferRequest,
    pub(super) live: Arc<Live>,
}

/// So much is collected before a thread writes it. While it does, the next portion comes in.
pub(super) const PORTION_BYTES: usize = 512 * 1024;

impl Job {
    pub(super) fn area(&self) -> &Arc<Area> {
        &self.act.asker.area
    }

    /// `bytes` were moved: waits for as long as the area's rate asks for.
    pub(super) async fn moved(&self, bytes: usize) {
        self.live.add(bytes);
        if let Some(pacer) = &self.desk.pacer {
            pacer.moved(bytes).await;
        }
    }

    /// Fills a buffer from a body. It comes back with what has come, and why it is not full if it broke off; shorter without a
    /// cause is the body's end.
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

/// What is wrong on this side.
pub(super) fn of_storage(error: StorageError) -> Fault {
    Fault::lasting(format!("here: {error}"))
}
