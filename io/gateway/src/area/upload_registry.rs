//! Registry of unfinished uploads: only one request works on an upload at a time.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use tokio::sync::{OwnedMutexGuard, watch};
use weir_storage::PartialId;

/// Uploads that requests work on in this process.
#[derive(Debug, Default)]
pub(crate) struct Uploads(Mutex<HashMap<PartialId, Weak<Turns>>>);

/// Requests for one upload. A later request ends the turn of an earlier one, because the client considers
/// that one lost (section 4.6 of the resumable-uploads draft).
#[derive(Debug)]
struct Turns {
    came: watch::Sender<u64>,
    turn: Arc<tokio::sync::Mutex<()>>,
}

/// The exclusive right to work on an upload.
#[derive(Debug)]
pub(crate) struct Turn {
    /// Changes when a later request wants the upload.
    pub(crate) came: watch::Receiver<u64>,
    _turns: Arc<Turns>,
    _guard: OwnedMutexGuard<()>,
}

impl Uploads {
    /// Waits until the request that works on an upload has stopped.
    pub(crate) async fn turn(&self, id: PartialId) -> Turn {
        let turns = {
            let mut by_id = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            match by_id.get(&id).and_then(Weak::upgrade) {
                Some(turns) => turns,
                None => {
                    by_id.retain(|_, turns| turns.strong_count() > 0);
                    let turns = Arc::new(Turns { came: watch::Sender::new(0), turn: Arc::default() });
                    by_id.insert(id, Arc::downgrade(&turns));
                    turns
                }
            }
        };
        turns.came.send_modify(|came| *came += 1);
        let came = turns.came.subscribe();
        let guard = Arc::clone(&turns.turn).lock_owned().await;
        Turn { came, _turns: turns, _guard: guard }
    }
}
