use std::future::Future;
use std::pin::Pin;

use weir_control::{Command, Reply, Snapshot};

/// Whoever runs the plan: tells how things stand, and obeys commands. Called on the control plane's thread.
pub trait Handler: Send + Sync + 'static {
    /// How things stand. Must not block.
    fn snapshot(&self) -> Snapshot;

    /// Whether nothing new is accepted any more. Asked often by what stands in front of Weir.
    fn stopping(&self) -> bool {
        self.snapshot().process.stopping
    }

    /// Obeys a command, whose right has been checked. Of [`Command::Show`] only [`weir_control::What::Runtime`] comes
    /// here; the rest is answered from [`Handler::snapshot`].
    fn handle(&self, command: Command) -> Replying<'_>;
}

/// A reply that may take a while (a reload).
pub type Replying<'a> = Pin<Box<dyn Future<Output = Reply> + Send + 'a>>;
