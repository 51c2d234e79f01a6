//! The server of the control socket.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::UnixListener;
use tokio::sync::Semaphore;
use weir_control::Right;

use super::bind::{BindError, BoundSocket, bind};
use super::connection;
use crate::Handler;

/// Maximum number of clients; each may have a large reply in memory.
const CALLERS_MAX: usize = 64;

/// Pause after a failed accept (no descriptors left), so that the thread does not spin.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// The control socket of a running Weir. Dropping it removes its file.
#[derive(Debug)]
pub struct ControlSocket {
    bound: BoundSocket,
}

impl ControlSocket {
    /// Opens the socket at `path`. `mode` determines the users that may send commands: 0o600 the owner, 0o660
    /// its group as well. Replaces the file of a dead process.
    pub fn bind(path: &Path, mode: u32) -> Result<Self, BindError> {
        bind(path, mode).map(|bound| Self { bound })
    }

    /// Answers clients, which have `right`, until the future is dropped. Must run on a Tokio runtime with I/O
    /// and time.
    pub async fn serve(self, handler: Arc<dyn Handler>, right: Right) -> io::Result<()> {
        self.bound.listener.set_nonblocking(true)?;
        let listener = UnixListener::from_std(self.bound.listener.try_clone()?)?;
        let places = Arc::new(Semaphore::new(CALLERS_MAX));
        let mut callers = tokio::task::JoinSet::new();
        loop {
            while callers.try_join_next().is_some() {}
            let Ok((stream, _)) = listener.accept().await else {
                tokio::time::sleep(ACCEPT_PAUSE).await;
                continue;
            };
            let Ok(place) = Arc::clone(&places).try_acquire_owned() else {
                callers.spawn(connection::refuse(stream));
                continue;
            };
            let handler = Arc::clone(&handler);
            callers.spawn(async move {
                // An aborted connection concerns only its client.
                let _ = connection::serve(stream, handler, right).await;
                drop(place);
            });
        }
    }
}
