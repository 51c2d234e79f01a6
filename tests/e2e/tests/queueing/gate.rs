//! A test server that holds requests until the test lets it answer them.

use std::sync::{Arc, Condvar, Mutex};

use weir_e2e::Weir;
use weir_testkit::{PATIENCE, RawServer, wait_until};

/// Server that records each request and answers it only when the test permits it. The test may permit answers
/// in advance.
pub(crate) struct Gate {
    server: RawServer,
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    /// Targets, in order of arrival.
    came: Vec<String>,
    /// Number of requests that may be answered.
    open: usize,
}

impl Gate {
    pub(crate) fn new() -> Self {
        let shared = Arc::new(Shared::default());
        let gate = Arc::clone(&shared);
        let server = RawServer::start(move |peer| {
            while let Ok(request) = peer.request() {
                let target = request.request_line().split(' ').nth(1).unwrap_or_default().to_owned();
                gate.pass(target);
                peer.respond("done")?;
            }
            Ok(())
        });
        Self { server, shared }
    }

    pub(crate) fn addr(&self) -> std::net::SocketAddr {
        self.server.addr()
    }

    /// Returns the targets of all requests so far, in order of arrival.
    pub(crate) fn came(&self) -> Vec<String> {
        self.shared.state.lock().unwrap().came.clone()
    }

    pub(crate) fn wait_for(&self, count: usize) {
        wait_until("the requests come", PATIENCE, || self.came().len() >= count);
    }

    /// Lets the server answer `count` more requests.
    pub(crate) fn open(&self, count: usize) {
        let mut state = self.shared.state.lock().unwrap();
        state.open = state.open.saturating_add(count);
        self.shared.changed.notify_all();
    }
}

impl Shared {
    fn pass(&self, target: String) {
        let mut state = self.state.lock().unwrap();
        state.came.push(target);
        let mut state = self.changed.wait_while(state, |state| state.open == 0).unwrap();
        state.open -= 1;
    }
}

impl Drop for Gate {
    fn drop(&mut self) {
        self.open(usize::MAX);
    }
}

/// Waits until `length` requests are in the queue of the pool `web`.
pub(crate) fn wait_for_queue(weir: &Weir, length: usize) {
    wait_until("they wait", PATIENCE, || queue_length(weir) == length as f64);
}

pub(crate) fn queue_length(weir: &Weir) -> f64 {
    weir.metrics().get("weir_pool_queue_length", &["pool=\"web\""])
}
