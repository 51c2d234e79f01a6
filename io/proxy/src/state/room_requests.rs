//! Requests among workers to close a connection in favour of a new one.

use std::net::IpAddr;
use std::sync::{Mutex, PoisonError};

use tokio::sync::{Notify, oneshot};

/// The limit that is reached: that of the process, or that of the listener with this number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Full {
    Process,
    Listener(usize),
}

/// Maximum number of requests that a worker has not handled yet. Further ones are refused.
const WAITING_MAX: usize = 256;

/// Inboxes for requests among workers when no more connections may be open. Each worker has its own
/// connections, and only that worker can close them.
#[derive(Debug)]
pub(crate) struct RoomRequests {
    /// One inbox for each worker.
    inboxes: Box<[Inbox]>,
}

#[derive(Debug, Default)]
struct Inbox {
    requests: Mutex<Vec<RoomRequest>>,
    arrived: Notify,
}

/// Request of a worker with a new connection, for which none of its own connections can be closed.
#[derive(Debug)]
pub(crate) struct RoomRequest {
    pub(crate) full: Full,
    /// Client of the new connection, if known.
    pub(crate) client: Option<IpAddr>,
    /// Number of connections of that client that wait in the asking worker.
    pub(crate) waiting: u32,
    /// Channel that receives a message when a connection is closed. Dropping it means that none is.
    pub(crate) made: oneshot::Sender<()>,
}

impl RoomRequests {
    pub(crate) fn new(workers: usize) -> Self {
        Self { inboxes: (0..workers).map(|_| Inbox::default()).collect() }
    }

    /// Returns the number of workers.
    pub(crate) fn workers(&self) -> usize {
        self.inboxes.len()
    }

    /// Sends `request` to this worker.
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
