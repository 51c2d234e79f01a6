//! The interface to the running process.

use std::future::Future;
use std::pin::Pin;

use weir_control::{Command, Reply, Snapshot};

/// The running process: returns snapshots and handles commands. Called on the control plane's thread.
pub trait Handler: Send + Sync + 'static {
    /// Returns the current state. Must not block.
    fn snapshot(&self) -> Snapshot;

    /// Returns true if the process accepts nothing new. Load balancers in front of Weir ask often.
    fn stopping(&self) -> bool {
        self.snapshot().process.stopping
    }

    /// Handles a command whose permission has been checked. Of [`Command::Show`] only
    /// [`weir_control::What::Runtime`] is passed; [`Handler::snapshot`] answers the rest.
    fn handle(&self, command: Command) -> Replying<'_>;
}

/// A reply that may take a while, for instance to a reload.
pub type Replying<'a> = Pin<Box<dyn Future<Output = Reply> + Send + 'a>>;
