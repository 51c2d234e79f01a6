//! Dispatches commands from the control socket and the admin pages to the control plane.

use std::sync::Arc;

use tokio::sync::{mpsc, oneshot};
use weir_admin::{Handler, Replying};
use weir_control::{Answer, Code, Command, Reply, Snapshot};
use weir_gateway::{Gateway, Unlocking};
use weir_proxy::control::Controller;

use super::fleets::Fleets;

/// A request to reload the config. The sender receives the notes of the reload or its error.
pub(super) type ReloadRequest = oneshot::Sender<Result<Vec<String>, String>>;

/// Handler of all commands from the control socket and the admin pages.
pub(super) struct ProcessHandler {
    pub(super) controller: Arc<Controller>,
    pub(super) gateway: Arc<Gateway>,
    pub(super) fleets: Arc<Fleets>,
    pub(super) reload: mpsc::Sender<ReloadRequest>,
}

impl Handler for ProcessHandler {
    fn snapshot(&self) -> Snapshot {
        let (storage, transfers) = (self.gateway.snapshot(), self.gateway.transfers());
        Snapshot { storage, transfers, fleets: self.fleets.snapshot(), ..self.controller.snapshot() }
    }

    fn handle(&self, command: Command) -> Replying<'_> {
        Box::pin(async move {
            match command {
                Command::Reload => self.reload().await,
                command @ (Command::FleetScale { .. }
                | Command::FleetPause { .. }
                | Command::FleetHistory { .. }) => self.tell_fleets(command).await,
                Command::StorageUnlock { area, path, below, holder, dry_run } => {
                    let area = area.map(|area| area.to_string());
                    self.unlock(Unlocking { area, path, below, holder, dry_run }).await
                }
                command => self.controller.apply(command).await,
            }
        })
    }
}

impl ProcessHandler {
    /// Applies a command about a fleet on a blocking thread. The desired state is on disk before the reply
    /// confirms it, and the control plane does not wait for that write.
    async fn tell_fleets(&self, command: Command) -> Reply {
        let fleets = Arc::clone(&self.fleets);
        let told = tokio::task::spawn_blocking(move || fleets.obey(&command));
        told.await.unwrap_or_else(|error| Reply::error(Code::Internal, error.to_string()))
    }

    async fn unlock(&self, unlocking: Unlocking) -> Reply {
        let gateway = Arc::clone(&self.gateway);
        let unlocked = tokio::task::spawn_blocking(move || gateway.unlock(&unlocking));
        match unlocked.await {
            Ok(Ok(locks)) => Reply::Ok(Answer::Locks { locks }),
            Ok(Err(refusal)) => refusal.into(),
            Err(error) => Reply::error(Code::Internal, error.to_string()),
        }
    }

    async fn reload(&self) -> Reply {
        let (answer, answered) = oneshot::channel();
        let stopping = || Reply::error(Code::Stopping, "the process is stopping");
        if self.reload.send(answer).await.is_err() {
            return stopping();
        }
        match answered.await {
            Ok(Ok(notes)) => Reply::Ok(Answer::Done { changed: true, notes }),
            Ok(Err(error)) => Reply::error(Code::BadConfig, error),
            Err(_) => stopping(),
        }
    }
}
