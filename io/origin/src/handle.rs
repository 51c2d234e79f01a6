//! Handle of a running server.

use std::net::SocketAddr;
use std::sync::Arc;
use std::thread::JoinHandle;

use tokio::sync::watch;

use crate::state::State;

/// Phase of the server, which its threads follow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Phase {
    Serve,
    /// Accept no more connections and finish the current requests.
    Drain,
    /// End now and reset open connections.
    Kill,
}

/// Waits until the server leaves the phase [`Phase::Serve`]. Returns the new phase.
pub(crate) async fn not_serving(phase: &mut watch::Receiver<Phase>) -> Phase {
    // Without a sender there is no handle any more, and no reason to drain.
    phase.wait_for(|phase| *phase != Phase::Serve).await.map_or(Phase::Kill, |phase| *phase)
}

/// Waits for the phase [`Phase::Kill`].
pub(crate) async fn killed(phase: &mut watch::Receiver<Phase>) {
    let _ = phase.wait_for(|phase| *phase == Phase::Kill).await;
}

/// Threads of a running server, with the means to stop them.
#[derive(Debug)]
pub(crate) struct Threads {
    pub(crate) phase: watch::Sender<Phase>,
    pub(crate) joins: Vec<JoinHandle<()>>,
}

/// A running [`crate::Origin`]. Dropping it kills it.
#[derive(Debug)]
pub struct OriginHandle {
    addr: SocketAddr,
    state: Arc<State>,
    threads: Threads,
}

impl OriginHandle {
    pub(crate) fn new(addr: SocketAddr, state: Arc<State>, threads: Threads) -> Self {
        Self { addr, state, threads }
    }

    /// Returns the address that it listens on, with the real port.
    pub fn addr(&self) -> SocketAddr {
        self.addr
    }

    /// Returns its name.
    pub fn name(&self) -> &str {
        &self.state.name
    }

    /// Returns the number of requests received so far, without health checks.
    pub fn requests(&self) -> u64 {
        self.state.counters.requests.get()
    }

    /// Returns the number of requests to `/health` received so far.
    pub fn checks(&self) -> u64 {
        self.state.counters.checks.get()
    }

    /// Returns the number of connections accepted so far.
    pub fn connections(&self) -> u64 {
        self.state.counters.accepted.get()
    }

    /// Returns the number of open connections.
    pub fn connections_open(&self) -> u64 {
        self.state.counters.accepted.get().saturating_sub(self.state.counters.closed.get())
    }

    /// Returns the number of requests in progress.
    pub fn active(&self) -> u64 {
        self.state.counters.requests.get().saturating_sub(self.state.counters.answered.get())
    }

    /// Sets the result of `/health`: 200 or 503.
    pub fn set_healthy(&self, healthy: bool) {
        self.state.set_healthy(healthy);
    }

    /// Stops accepting, lets requests finish within the grace time, and returns when all threads have ended.
    pub fn stop(mut self) {
        self.end(Phase::Drain);
    }

    /// Stops at once: closes the port and resets open connections.
    pub fn kill(mut self) {
        self.end(Phase::Kill);
    }

    fn end(&mut self, phase: Phase) {
        self.threads.phase.send_replace(phase);
        for join in self.threads.joins.drain(..) {
            // A thread that panicked has closed its connections, too.
            let _ = join.join();
        }
    }
}

impl Drop for OriginHandle {
    fn drop(&mut self) {
        self.end(Phase::Kill);
    }
}
