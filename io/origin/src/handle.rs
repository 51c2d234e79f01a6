use std::net::SocketAddr;
use std::sync::Arc;
use std::thread::JoinHandle;

use tokio::sync::watch;

use crate::state::State;

/// How the threads are told to end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Phase {
    Serve,
    /// Accept no more, finish what is being answered.
    Drain,
    /// End now; open connections are reset.
    Kill,
}

/// Waits until serving is over, and says how.
pub(crate) async fn not_serving(phase: &mut watch::Receiver<Phase>) -> Phase {
    // No sender means no handle: nobody is left to drain for.
    phase.wait_for(|phase| *phase != Phase::Serve).await.map_or(Phase::Kill, |phase| *phase)
}

/// Waits until all has to end at once.
pub(crate) async fn killed(phase: &mut watch::Receiver<Phase>) {
    let _ = phase.wait_for(|phase| *phase == Phase::Kill).await;
}

/// The threads of a running server and the way to stop them.
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

    /// Where it accepts, with the real port.
    pub fn addr(&self) -> SocketAddr {
        self.addr
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.state.name
    }

    /// Requests received so far, health checks not counted.
    pub fn requests(&self) -> u64 {
        self.state.counters.requests.get()
    }

    /// Requests to `/health` received so far.
    pub fn checks(&self) -> u64 {
        self.state.counters.checks.get()
    }

    /// Connections accepted so far.
    pub fn connections(&self) -> u64 {
        self.state.counters.accepted.get()
    }

    /// Connections open now.
    pub fn connections_open(&self) -> u64 {
        self.state.counters.accepted.get().saturating_sub(self.state.counters.closed.get())
    }

    /// Requests being answered now.
    pub fn active(&self) -> u64 {
        self.state.counters.requests.get().saturating_sub(self.state.counters.answered.get())
    }

    /// What `/health` answers from now on: 200 or 503.
    pub fn set_healthy(&self, healthy: bool) {
        self.state.set_healthy(healthy);
    }

    /// Accepts no more, lets requests finish within the grace time, and returns when all is over.
    pub fn stop(mut self) {
        self.end(Phase::Drain);
    }

    /// Ends at once: the port is closed and open connections are reset.
    pub fn kill(mut self) {
        self.end(Phase::Kill);
    }

    fn end(&mut self, phase: Phase) {
        self.threads.phase.send_replace(phase);
        for join in self.threads.joins.drain(..) {
            // A thread that panicked has closed its connections too: there is nothing left to do for it.
            let _ = join.join();
        }
    }
}

impl Drop for OriginHandle {
    fn drop(&mut self) {
        self.end(Phase::Kill);
    }
}
