//! Registry of running transfers and totals of finished ones.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use weir_control::{TransferSnapshot, TransferTotals, TransfersSnapshot};
use weir_dav::third_party::Direction;

/// Running transfers, and totals.
#[derive(Debug, Default)]
pub(crate) struct Registry {
    book: Mutex<Book>,
}

#[derive(Debug, Default)]
struct Book {
    next_id: u64,
    live: Vec<Arc<Live>>,
    totals: HashMap<(String, Direction), Counts>,
}

#[derive(Debug, Default, Clone, Copy)]
struct Counts {
    succeeded: u64,
    failed: u64,
    cancelled: u64,
    bytes: u64,
}

/// State of one transfer, shared with the snapshots.
#[derive(Debug)]
pub(crate) struct Live {
    id: u64,
    about: About,
    started: Instant,
    state: AtomicU8,
    /// Bytes of the file that have arrived.
    bytes: AtomicU64,
    /// Bytes sent over the network, including failed attempts.
    moved: AtomicU64,
    /// Size of the file; `u64::MAX` if not known.
    size: AtomicU64,
    connections: Mutex<Vec<SocketAddr>>,
    recent: Mutex<Recent>,
}

/// Properties of a transfer that are known from the start.
#[derive(Debug, Clone)]
pub(crate) struct About {
    pub(crate) area: String,
    pub(crate) direction: Direction,
    /// Host and port of the other server.
    pub(crate) peer: String,
    /// Path of the file in URLs.
    pub(crate) path: String,
    pub(crate) sci_tag: Option<u16>,
}

#[derive(Debug)]
struct Recent {
    since: Instant,
    moved: u64,
    bytes_per_second: Option<u64>,
}

/// Stage of a transfer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stage {
    /// Waits for admission.
    Queued,
    /// Waits for the other server, or for the next attempt.
    Waiting,
    /// Transfers data.
    Moving,
    /// Compares checksums.
    Verifying,
}

/// Result of a transfer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    Succeeded,
    Failed,
    /// The client has left, or the process stops.
    Cancelled,
}

/// Registry entry of a transfer. Dropping it removes the entry and adds to the totals.
#[derive(Debug)]
pub(crate) struct Entry {
    registry: Arc<Registry>,
    pub(crate) live: Arc<Live>,
    pub(crate) end: End,
}

/// Maximum number of peer addresses that are recorded for one transfer.
const CONNECTIONS_MAX: usize = 16;

/// Minimum duration over which a rate is measured.
const RECENT: Duration = Duration::from_secs(1);

impl Registry {
    /// Adds a new transfer.
    pub(crate) fn begin(self: &Arc<Self>, about: About) -> Entry {
        let mut book = self.lock();
        let id = book.next_id;
        book.next_id += 1;
        let live = Arc::new(Live {
            id,
            about,
            started: Instant::now(),
            state: AtomicU8::new(Stage::Queued as u8),
            bytes: AtomicU64::new(0),
            moved: AtomicU64::new(0),
            size: AtomicU64::new(u64::MAX),
            connections: Mutex::default(),
            recent: Mutex::new(Recent { since: Instant::now(), moved: 0, bytes_per_second: None }),
        });
        book.live.push(Arc::clone(&live));
        // Creates the counters, so that their metrics exist from the first transfer on.
        book.totals.entry((live.about.area.clone(), live.about.direction)).or_default();
        Entry { registry: Arc::clone(self), live, end: End::Cancelled }
    }

    /// Returns the state of all transfers.
    pub(crate) fn snapshot(&self) -> TransfersSnapshot {
        let book = self.lock();
        let mut counts = book.totals.clone();
        for live in &book.live {
            let key = (live.about.area.clone(), live.about.direction);
            counts.entry(key).or_default().bytes += live.moved.load(Ordering::Relaxed);
        }
        let mut totals: Vec<_> = counts
            .into_iter()
            .map(|((area, direction), counts)| TransferTotals {
                area,
                direction: direction.name().to_owned(),
                succeeded: counts.succeeded,
                failed: counts.failed,
                cancelled: counts.cancelled,
                bytes: counts.bytes,
            })
            .collect();
        totals.sort_by(|one, other| (&one.area, &one.direction).cmp(&(&other.area, &other.direction)));
        TransfersSnapshot { live: book.live.iter().map(|live| live.snapshot()).collect(), totals }
    }

    fn lock(&self) -> MutexGuard<'_, Book> {
        self.book.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Live {
    pub(crate) fn set_stage(&self, stage: Stage) {
        self.state.store(stage as u8, Ordering::Relaxed);
    }

    pub(crate) fn set_size(&self, size: Option<u64>) {
        self.size.store(size.unwrap_or(u64::MAX), Ordering::Relaxed);
    }

    /// Counts transferred bytes of the file.
    pub(crate) fn add(&self, bytes: usize) {
        self.bytes.fetch_add(bytes as u64, Ordering::Relaxed);
        self.moved.fetch_add(bytes as u64, Ordering::Relaxed);
    }

    /// Resets the progress, because the transfer starts again.
    pub(crate) fn begin_anew(&self) {
        self.bytes.store(0, Ordering::Relaxed);
    }

    /// Returns the transferred bytes of the file.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }

    /// Records a connection to this address.
    pub(crate) fn connected(&self, address: SocketAddr) {
        let mut connections = self.connections.lock().unwrap_or_else(PoisonError::into_inner);
        if connections.len() < CONNECTIONS_MAX && !connections.contains(&address) {
            connections.push(address);
        }
    }

    /// Returns the addresses of all connections so far.
    pub(crate) fn connections(&self) -> Vec<SocketAddr> {
        self.connections.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn rate(&self) -> u64 {
        let moved = self.moved.load(Ordering::Relaxed);
        let mut recent = self.recent.lock().unwrap_or_else(PoisonError::into_inner);
        let elapsed = recent.since.elapsed();
        let rate = |bytes: u64, elapsed: Duration| (bytes as f64 / elapsed.as_secs_f64().max(0.001)) as u64;
        if elapsed >= RECENT {
            let now = rate(moved.saturating_sub(recent.moved), elapsed);
            *recent = Recent { since: Instant::now(), moved, bytes_per_second: Some(now) };
        }
        recent.bytes_per_second.unwrap_or_else(|| rate(moved, self.started.elapsed()))
    }

    fn snapshot(&self) -> TransferSnapshot {
        let size = self.size.load(Ordering::Relaxed);
        TransferSnapshot {
            id: self.id,
            area: self.about.area.clone(),
            direction: self.about.direction.name().to_owned(),
            peer: self.about.peer.clone(),
            path: self.about.path.clone(),
            state: stage_name(self.state.load(Ordering::Relaxed)).to_owned(),
            bytes: self.bytes(),
            size: (size != u64::MAX).then_some(size),
            bytes_per_second: self.rate(),
            age_ms: u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX),
            sci_tag: self.about.sci_tag,
        }
    }
}

fn stage_name(stage: u8) -> &'static str {
    const QUEUED: u8 = Stage::Queued as u8;
    const WAITING: u8 = Stage::Waiting as u8;
    const VERIFYING: u8 = Stage::Verifying as u8;
    match stage {
        QUEUED => "queued",
        WAITING => "waiting",
        VERIFYING => "verifying",
        _ => "moving",
    }
}

impl Drop for Entry {
    fn drop(&mut self) {
        let mut book = self.registry.lock();
        book.live.retain(|live| live.id != self.live.id);
        let key = (self.live.about.area.clone(), self.live.about.direction);
        let counts = book.totals.entry(key).or_default();
        counts.bytes += self.live.moved.load(Ordering::Relaxed);
        match self.end {
            End::Succeeded => counts.succeeded += 1,
            End::Failed => counts.failed += 1,
            End::Cancelled => counts.cancelled += 1,
        }
    }
}
