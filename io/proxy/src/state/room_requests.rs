use std::net::IpAddr;
use std::sync::{Mutex, PoisonError};

use tokio::sync::{Notify, oneshot};

/// What must have room for a newcomer: the process, or the listener with this number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Full {
    Process,
    Listener(usize),
}

/// Requests that a worker has not looked at yet. Further ones are refused.
const WAITING_MAX: usize = 256;

/// What workers ask of one another where no more connections may be open: each has connections of its own, and only it can end
/// them.
#[derive(Debug)]
pub(crate) struct RoomRequests {
    /// One for each worker.
    inboxes: Box<[Inbox]>,
}

#[derive(Debug, Default)]
struct Inbox {
    requests: Mutex<Vec<RoomRequest>>,
    arrived: Notify,
}

/// A worker has a newcomer, and no connection that could give way to it.
#[derive(Debug)]
pub(crate) struct RoomRequest {
    pub(crate) full: Full,
    /// Whose the newcomer is, if that is known.
    pub(crate) client: Option<IpAddr>,
    /// So many connections of that client wait in the worker that asks.
    pub(crate) waiting: u32,
    /// Told when a connection gives way. Dropped: none does.
    pub(crate) made: oneshot::Sender<()>,
}

impl RoomRequests {
    pub(crate) fn new(workers: usize) -> Self {
        Self { inboxes: (0..workers).map(|_| Inbox::default()).collect() }
    }

    /// How many workers there are.
    pub(crate) fn workers(&self) -> usize {
        self.inboxes.len()
    }

    /// Asks this worker.
    pub(crate) fn ask(&self, worker: usize, request: RoomRequest) {
        let Some(inbox) = self.inboxes.get(worker) else { return };
        let mut requests = inbox.requests.lock().unwrap_or_else(PoisonError::into_inner);
        if requests.len() < WAITING_MAX {
            requests.push(request);
            drop(requests);
            inbox.arrived.notify_one();
        }
    }

    /// Returns when there is a request to this worker.
    pub(crate) async fn arrived(&self, worker: usize) {
        match self.inboxes.get(worker) {
            Some(inbox) => inbox.arrived.notified().await,
            None => std::future::pending().await,
        }
    }

    /// Takes the requests to this worker.
    pub(crate) fn take(&self, worker: usize) -> Vec<RoomRequest> {
        let inbox = self.inboxes.get(worker);
        inbox.map_or_else(Vec::new, |inbox| {
            std::mem::take(&mut inbox.requests.lock().unwrap_or_else(PoisonError::into_inner))
        })
    }
}
