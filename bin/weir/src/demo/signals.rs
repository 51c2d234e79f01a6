//! Waits for the signals that end the demo.

use std::io;

use tokio::signal::unix::{Signal, SignalKind, signal};

/// SIGINT (Ctrl-C), SIGTERM, SIGHUP (the terminal was closed) and SIGQUIT, none of which kills this process
/// any more.
#[derive(Debug)]
pub(super) struct Signals {
    interrupt: Signal,
    terminate: Signal,
    hang_up: Signal,
    quit: Signal,
}

impl Signals {
    pub(super) fn install() -> io::Result<Self> {
        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
            hang_up: signal(SignalKind::hangup())?,
            quit: signal(SignalKind::quit())?,
        })
    }

    /// Returns when a signal arrives, or has arrived since the last call.
    pub(super) async fn next(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
            _ = self.hang_up.recv() => {}
            _ = self.quit.recv() => {}
        }
    }
}
