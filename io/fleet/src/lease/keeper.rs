//! Thread that renews a lease in a store, so that a busy fleet does not delay the renewal.

use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::{sleep, timeout};
use weir_config::plan::LeaseStorePlan;

use super::LeaseError;
use super::clock::since_boot;
use super::store::{Claim, Store, patience, place, usable};

/// Renews a lease until it is dropped or lost.
#[derive(Debug)]
pub(super) struct Keeper {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug)]
struct Shared {
    /// Time until which the lease is usable, in nanoseconds since boot.
    until: AtomicU64,
    /// True if another process holds the lease, or if its key was deleted.
    lost: AtomicBool,
    /// Error of the last renewal; empty if it succeeded.
    trouble: Mutex<String>,
    /// Address and key of the store, for messages.
    place: String,
    over: Notify,
}

/// Maximum time for the release. If the store does not answer in time, the lease expires.
const RELEASE_MAX: Duration = Duration::from_secs(1);
/// Divisor of the pause after a failed renewal.
const HASTE: u32 = 5;

impl Keeper {
    /// Starts the renewal of a lease that was just granted.
    pub(super) fn start(plan: LeaseStorePlan, claim: Claim) -> io::Result<Self> {
        let shared = Arc::new(Shared {
            until: AtomicU64::new(nanoseconds(claim.since + usable(&plan))),
            lost: AtomicBool::new(false),
            trouble: Mutex::default(),
            place: place(&plan),
            over: Notify::new(),
        });
        let ours = Arc::clone(&shared);
        let keep = move || {
            let runtime = match tokio::runtime::Builder::new_current_thread().enable_all().build() {
                Ok(runtime) => runtime,
                Err(cause) => return ours.note(format!("no event loop: {cause}")),
            };
            runtime.block_on(keep(&plan, &claim, &ours));
            // A name resolution may still be blocked.
            runtime.shutdown_background();
        };
        let thread = std::thread::Builder::new().name("lease".to_owned()).spawn(keep)?;
        Ok(Self { shared, thread: Some(thread) })
    }

    /// Checks that the lease still holds.
    pub(super) fn check(&self) -> Result<(), LeaseError> {
        let shared = &self.shared;
        if shared.lost.load(Ordering::SeqCst) {
            return Err(LeaseError::Lapsed(format!(
                "{}: the lease is somebody else's, or was taken away",
                shared.place
            )));
        }
        if nanoseconds(since_boot()) < shared.until.load(Ordering::SeqCst) {
            return Ok(());
        }
        let why = shared.trouble();
        let why = if why.is_empty() { "this process has stood still".to_owned() } else { why };
        Err(LeaseError::Lapsed(format!("{}: the lease was not renewed in time: {why}", shared.place)))
    }

    /// Returns a problem with a lease that still holds.
    pub(super) fn trouble(&self) -> Option<String> {
        let why = self.shared.trouble();
        (!why.is_empty()).then(|| {
            format!("{}: the lease could not be renewed, and is still good: {why}", self.shared.place)
        })
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        self.shared.over.notify_one();
        if let Some(thread) = self.thread.take() {
            // A panicked thread has already reported its error.
            let _ = thread.join();
        }
    }
}

impl Shared {
    fn trouble(&self) -> String {
        self.trouble.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn note(&self, trouble: String) {
        *self.trouble.lock().unwrap_or_else(PoisonError::into_inner) = trouble;
    }
}

/// Renews the lease until the keeper is dropped, another process holds the lease, or its time is over.
/// Releases the lease if it was dropped.
async fn keep(plan: &LeaseStorePlan, claim: &Claim, shared: &Shared) {
    let mut store = Store::new(plan);
    let patience = patience(plan);
    let mut pause = patience;
    loop {
        tokio::select! {
            () = shared.over.notified() => break,
            () = sleep(pause) => {}
        }
        // The validity counts from the time before the request, which is earlier than the time from which the
        // store counts.
        let asked = since_boot();
        let renewed = tokio::select! {
            () = shared.over.notified() => break,
            renewed = timeout(patience, store.renew(claim)) => renewed,
        };
        match renewed {
            Ok(Ok(true)) => {
                shared.until.store(nanoseconds(asked + usable(plan)), Ordering::SeqCst);
                shared.note(String::new());
                pause = patience;
                continue;
            }
            Ok(Ok(false)) => {
                shared.lost.store(true, Ordering::SeqCst);
                return;
            }
            Ok(Err(why)) => shared.note(why),
            Err(_) => shared.note(format!("no answer within {} ms", patience.as_millis())),
        }
        store.disconnect();
        pause = patience / HASTE;
        if nanoseconds(since_boot()) >= shared.until.load(Ordering::SeqCst) {
            break;
        }
    }
    if nanoseconds(since_boot()) >= shared.until.load(Ordering::SeqCst) {
        // Actions begun in time may still be in progress. They have the rest of the time until the lease
        // expires.
        return;
    }
    store.disconnect();
    // If the release fails, the lease expires.
    let _ = timeout(RELEASE_MAX, store.release(claim)).await;
}

fn nanoseconds(span: Duration) -> u64 {
    u64::try_from(span.as_nanos()).unwrap_or(u64::MAX)
}
