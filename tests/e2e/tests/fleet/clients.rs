//! Clients that send requests continuously while a test changes a fleet.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;

use weir_e2e::get;
use weir_testkit::{RawClient, SetOnDrop};

/// Results of the clients.
#[derive(Default)]
pub(crate) struct Seen {
    over: AtomicBool,
    answered: AtomicU64,
    /// Failed requests, each with its result.
    failed: Mutex<Vec<String>>,
    /// Servers that have responded since the last [`Seen::take_servers`].
    servers: Mutex<BTreeSet<String>>,
}

impl Seen {
    /// Runs clients until `meanwhile` returns. Each client sends one request after the other over one
    /// connection. Requests take at least 5 ms; those of each further client take `more_ms` longer.
    pub(crate) fn during(
        address: SocketAddr,
        clients: u64,
        more_ms: u64,
        meanwhile: impl FnOnce(&Self),
    ) -> Self {
        let seen = Self::default();
        thread::scope(|scope| {
            // Stops the clients even if `meanwhile` panics, because the scope waits for them.
            let _over = SetOnDrop(&seen.over);
            for client in 0..clients {
                let (seen, path) = (&seen, format!("/delay/{}", 5 + more_ms * client));
                scope.spawn(move || seen.ask(address, &path));
            }
            meanwhile(&seen);
        });
        seen
    }

    fn ask(&self, address: SocketAddr, path: &str) {
        let mut connection = RawClient::connect(address);
        while !self.over.load(Ordering::SeqCst) {
            let sent = connection.try_send(get(path)).map_err(|cause| cause.to_string());
            let answer = sent.and_then(|()| connection.try_response().map_err(|cause| format!("{cause:?}")));
            match answer {
                Ok(response) if response.status == 200 => {
                    self.answered.fetch_add(1, Ordering::SeqCst);
                    let server = response.header("x-origin").unwrap_or_default().to_owned();
                    self.servers.lock().unwrap().insert(server);
                }
                failed => {
                    self.failed.lock().unwrap().push(format!("{failed:?}"));
                    connection = RawClient::connect(address);
                }
            }
        }
    }

    /// Returns the number of responses so far.
    pub(crate) fn answered(&self) -> u64 {
        self.answered.load(Ordering::SeqCst)
    }

    /// Returns the results of the failed requests.
    pub(crate) fn failed(&self) -> Vec<String> {
        self.failed.lock().unwrap().clone()
    }

    /// Returns the servers that have responded since the last call.
    pub(crate) fn take_servers(&self) -> BTreeSet<String> {
        std::mem::take(&mut *self.servers.lock().unwrap())
    }
}
