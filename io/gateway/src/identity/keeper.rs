//! The thread that keeps the keys of issuers fresh.

use std::sync::{Arc, Weak};
use std::thread;
use std::time::Duration;

use tokio::runtime::Builder;
use tokio::sync::mpsc;
use tokio::task::{LocalSet, spawn_local};
use tokio::time::timeout;

use super::issuer::TrustedIssuer;
use crate::clock::unix_now_s;

/// A task looks at least so often whether its issuer is still there.
const LOOK: Duration = Duration::from_secs(30);

/// Ends with the last handle.
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

    /// Keeps the keys of an issuer fresh for as long as it is there.
    pub(super) fn keep(&self, issuer: &Arc<TrustedIssuer>) {
        // The thread lives as long as this handle.
        let _ = self.issuers.send(Arc::downgrade(issuer));
    }
}

async fn keep(issuer: Weak<TrustedIssuer>) {
    while let Some(issuer) = issuer.upgrade() {
        let wait = Duration::from_secs(issuer.due_at().saturating_sub(unix_now_s()));
        if !wait.is_zero() {
            // Whether it was told or the time has come, the loop looks again.
            let _ = timeout(wait.min(LOOK), issuer.wake.notified()).await;
        } else if let Err(error) = issuer.refresh().await {
            eprintln!("weir: token issuer {}: {error}", issuer.plan.name);
        }
    }
}
