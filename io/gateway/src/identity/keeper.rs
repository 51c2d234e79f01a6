//! The thread that refreshes the keys of token issuers.

use std::sync::{Arc, Weak};
use std::thread;
use std::time::Duration;

use tokio::runtime::Builder;
use tokio::sync::mpsc;
use tokio::task::{LocalSet, spawn_local};
use tokio::time::timeout;

use super::issuer::TrustedIssuer;
use crate::clock::unix_now_s;

/// Interval at which a task checks that its issuer still exists.
const LOOK: Duration = Duration::from_secs(30);

/// Handle of the key thread. The thread ends when the last handle is dropped.
#[derive(Debug)]
pub(super) struct Keeper {
    issuers: mpsc::UnboundedSender<Weak<TrustedIssuer>>,
}

impl Keeper {
    pub(super) fn start() -> Result<Self, String> {
        let (issuers, mut received) = mpsc::unbounded_channel();
        let runtime = Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(|error| format!("event loop for keys: {error}"))?;
        let work = move || {
            let tasks = LocalSet::new();
            tasks.block_on(&runtime, async move {
                while let Some(issuer) = received.recv().await {
                    spawn_local(keep(issuer));
                }
            });
        };
        thread::Builder::new()
            .name("token-keys".to_owned())
            .spawn(work)
            .map_err(|error| format!("thread for keys: {error}"))?;
        Ok(Self { issuers })
    }

    /// Refreshes the keys of an issuer until the issuer is dropped.
    pub(super) fn keep(&self, issuer: &Arc<TrustedIssuer>) {
        // Cannot fail: the thread lives as long as this handle.
        let _ = self.issuers.send(Arc::downgrade(issuer));
    }
}

async fn keep(issuer: Weak<TrustedIssuer>) {
    while let Some(issuer) = issuer.upgrade() {
        let wait = Duration::from_secs(issuer.due_at().saturating_sub(unix_now_s()));
        if !wait.is_zero() {
            // The loop checks again after a wake-up and after a timeout.
            let _ = timeout(wait.min(LOOK), issuer.wake.notified()).await;
        } else if let Err(error) = issuer.refresh().await {
            eprintln!("weir: token issuer {}: {error}", issuer.plan.name);
        }
    }
}
