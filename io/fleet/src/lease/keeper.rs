//! A thread that renews a lease in a store: nothing that a fleet waits for holds it up.

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

/// Keeps a lease until it is dropped, or cannot.
#[derive(Debug)]
pub(super) struct Keeper {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug)]
struct Shared {
    /// Until when it may be acted upon: nanoseconds since the boot.
    until: AtomicU64,
    /// It has passed to somebody else, or was taken away.
    lost: AtomicBool,
    /// Why it could not be renewed, last; empty if it could.
    trouble: Mutex<String>,
    /// For messages.
    place: String,
    over: Notify,
}

/// A store that does not answer does not hold up the end: then the lease ends by itself.
const RELEASE_MAX: Duration = Duration::from_secs(1);
/// After a failure it is tried again after this part of a try.
const HASTE: u32 = 5;

impl Keeper {
    /// Keeps what was claimed a moment ago.
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
            // A name may still be looked up by somebody who never answers.
            runtime.shutdown_background();
        };
        let thread = std::thread::Builder::new().name("lease".to_owned()).spawn(keep)?;
        Ok(Self { shared, thread: Some(thread) })
    }

    /// Whether it still holds.
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

    /// What is wrong with it although it holds.
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
            // If it has panicked, it has said why.
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

/// Renews it until nobody needs it any more, it has gone to somebody else, or its time is over. Then it is given back.
async fn keep(plan: &LeaseStorePlan, claim: &Claim, shared: &Shared) {
    let mut store = Store::new(plan);
    let patience = patience(plan);
    let mut pause = patience;
    loop {
        tokio::select! {
            () = shared.over.notified() => break,
            () = sleep(pause) => {}
        }
        // Those who act go by the time before it was asked for: the store counts from a later one.
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
        // What was begun in time may be under way yet: for that there is the rest of the time, after which it ends by itself.
        return;
    }
    store.disconnect();
    // If nobody takes it back it ends by itself.
    let _ = timeout(RELEASE_MAX, store.release(claim)).await;
}

fn nanoseconds(span: Duration) -> u64 {
    u64::try_from(span.as_nanos()).unwrap_or(u64::MAX)
}
