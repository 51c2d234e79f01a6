//! Periodic work for storage areas, independent of requests.

mod checksum_backfill;

use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};
use std::thread;
use std::time::{Duration, Instant};

use tokio::runtime::Builder;
use tokio::sync::mpsc;
use tokio::task::{LocalSet, spawn_local};
use tokio::time::sleep;
use weir_dav::path::DavPath;
use weir_storage::{Count, StorageError, Sweep};

use crate::area::Area;
use crate::clock::unix_now_s;

/// Maximum age of the cached file system state.
const LOOK: Duration = Duration::from_secs(10);

/// Interval at which unused open files are closed.
const OPEN_FILES_LOOK: Duration = Duration::from_secs(1);

/// Maximum interval between checks for abandoned uploads, in seconds.
const SWEEP_S: u64 = 60;

/// Number of members examined at a time when files are counted, and the pause after them. This limits the
/// count to 5,000 members per second and keeps no thread busy for long.
const BATCH: usize = 250;
const PAUSE: Duration = Duration::from_millis(50);

/// Pause after each batch of names in the search for leftovers, to leave disk time for requests.
const SWEEP_PAUSE: Duration = Duration::from_millis(5);

/// Handle of the upkeep thread. The thread uses the areas' disk threads and never waits for a disk itself. It
/// ends with the last handle.
#[derive(Debug)]
pub(crate) struct Upkeep {
    areas: mpsc::UnboundedSender<Weak<Area>>,
}

impl Upkeep {
    pub(crate) fn start() -> Result<Self, String> {
        let (areas, mut received) = mpsc::unbounded_channel();
        let runtime = Builder::new_current_thread()
            .enable_time()
            .build()
            .map_err(|error| format!("event loop for storage areas: {error}"))?;
        let work = move || {
            LocalSet::new().block_on(&runtime, async move {
                while let Some(area) = received.recv().await {
                    spawn_local(close_unused(Weak::clone(&area)));
                    spawn_local(sweep(Weak::clone(&area)));
                    spawn_local(checksum_backfill::keep(Weak::clone(&area)));
                    spawn_local(share_usage(Weak::clone(&area)));
                    spawn_local(keep(area));
                }
            });
        };
        thread::Builder::new()
            .name("storage-upkeep".to_owned())
            .spawn(work)
            .map_err(|error| format!("thread for storage areas: {error}"))?;
        Ok(Self { areas })
    }

    /// Adds an area, for as long as it exists.
    pub(crate) fn keep(&self, area: &Arc<Area>) {
        // Cannot fail: the thread lives as long as this handle.
        let _ = self.areas.send(Arc::downgrade(area));
    }
}

/// Removes leftovers of earlier processes, a few names at a time. Runs to its end even if the area is
/// dropped, because later owners of the tree assume that it is done. The next start finds anything that
/// cannot be removed now.
async fn sweep(area: Weak<Area>) {
    let Some(held) = area.upgrade().filter(|area| area.is_to_be_swept()) else { return };
    let (tree, disk) = (Arc::clone(&held.tree), held.own_disk.clone());
    drop(held);
    let Ok(Some(mut sweep)) = disk.run_long_on(move || Sweep::begin(&tree)).await else { return };
    loop {
        let looked = disk.run_on(move || {
            let done = sweep.step(BATCH);
            Ok((sweep, done))
        });
        match looked.await {
            Ok((rest, false)) => sweep = rest,
            Ok((_, true)) | Err(_) => return,
        }
        sleep(SWEEP_PAUSE).await;
    }
}

/// Closes open files that were not requested for some time.
async fn close_unused(area: Weak<Area>) {
    while let Some(area) = area.upgrade() {
        area.open_files.sweep(Instant::now());
        drop(area);
        sleep(OPEN_FILES_LOOK).await;
    }
}

/// Exchanges usage counts with other nodes that share the directory.
async fn share_usage(area: Weak<Area>) {
    while let Some(held) = area.upgrade() {
        if held.plan.usage_interval.is_some() && !held.plan.read_only {
            let tree = Arc::clone(&held.tree);
            // Failures are retried in the next round.
            let _ = held.own_disk.run(move || tree.share_usage()).await;
        }
        drop(held);
        sleep(LOOK).await;
    }
}

async fn keep(area: Weak<Area>) {
    // Time since which this node has waited for another node's count.
    let mut waits_since_s = None;
    loop {
        let Some(held) = area.upgrade() else { return };
        let tree = Arc::clone(&held.tree);
        let look = held.own_disk.run(move || tree.usage(&DavPath::root()));
        if let Ok(usage) = look.await {
            held.kept.available.store(usage.available, Ordering::Relaxed);
        }
        sweep_uploads(&held).await;
        if let Some(since_s) = waits_since_s
            && held.tree.ledger().account().counted_s.is_some_and(|counted_s| counted_s >= since_s)
        {
            // The count of the other node is valid for all nodes.
            waits_since_s = None;
            held.kept.counted_at_s.store(unix_now_s(), Ordering::Relaxed);
        }
        if count_due_in(&held).is_some_and(|wait| wait.is_zero())
            && !held.kept.counting.swap(true, Ordering::Relaxed)
        {
            let kept = Arc::clone(&held.kept);
            kept.counted_at_s.store(unix_now_s(), Ordering::Relaxed);
            let name = held.plan.name.clone();
            drop(held);
            match count(&area).await {
                Ok(true) => {}
                // The area is gone. The next owner of the tree counts again.
                Ok(false) => kept.counted_at_s.store(0, Ordering::Relaxed),
                // Another node is counting, or the disk is busy.
                Err(StorageError::Busy) => {
                    waits_since_s.get_or_insert_with(unix_now_s);
                    kept.counted_at_s.store(0, Ordering::Relaxed);
                    kept.counting.store(false, Ordering::Relaxed);
                    sleep(LOOK).await;
                }
                Err(error) => eprintln!("weir: storage area {name}: counting its files: {error}"),
            }
            kept.counting.store(false, Ordering::Relaxed);
            continue;
        }
        // While another task counts, poll at the long interval.
        let is_counting = held.kept.counting.load(Ordering::Relaxed);
        let due = count_due_in(&held).filter(|_| !is_counting);
        let wait = due.map_or(LOOK, |due| due.min(LOOK)).max(PAUSE);
        drop(held);
        sleep(wait).await;
    }
}

/// Returns the time until the next count; `None` means never.
fn count_due_in(area: &Area) -> Option<Duration> {
    let interval = area.plan.usage_interval?.duration();
    let since = unix_now_s().saturating_sub(area.kept.counted_at_s.load(Ordering::Relaxed));
    Some(interval.saturating_sub(Duration::from_secs(since)))
}

/// Removes abandoned uploads, at intervals.
async fn sweep_uploads(area: &Area) {
    let now_s = unix_now_s();
    let since_s = now_s.saturating_sub(area.kept.swept_at_s.load(Ordering::Relaxed));
    if area.plan.read_only || since_s < SWEEP_S.min(area.plan.upload_expiry.0 / 1_000) {
        return;
    }
    area.kept.swept_at_s.store(now_s, Ordering::Relaxed);
    let tree = Arc::clone(&area.tree);
    // Failures are retried in the next round.
    let _ = area.own_disk.run(move || tree.sweep_partials(now_s)).await;
}

/// Counts the files, a few at a time. Returns false if the area is gone.
async fn count(area: &Weak<Area>) -> Result<bool, StorageError> {
    let Some(held) = area.upgrade() else { return Ok(false) };
    let (tree, writable) = (Arc::clone(&held.tree), !held.plan.read_only);
    let mut count = held.own_disk.run_long(move || Count::begin(&tree, writable)).await?;
    drop(held);
    loop {
        let Some(held) = area.upgrade() else { return Ok(false) };
        let looked = held.own_disk.run_on(move || {
            let done = count.step(BATCH)?;
            Ok((count, done))
        });
        let (rest, done) = looked.await?;
        if done {
            return Ok(true);
        }
        count = rest;
        drop(held);
        sleep(PAUSE).await;
    }
}
