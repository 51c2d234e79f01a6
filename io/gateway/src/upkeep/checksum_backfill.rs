//! Computes missing checksums in the background, one file at a time. Files lack them if another program wrote
//! or changed them.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use tokio::time::{sleep, timeout};
use weir_dav::digest::Algorithm;
use weir_dav::path::DavPath;
use weir_storage::{Listing, Metadata, StorageError, Tree};

use crate::area::Area;
use crate::clock::unix_now_s;

/// Interval at which the task checks if the next search is due.
const LOOK: Duration = Duration::from_secs(10);

/// Number of members examined at a time, and the pause after them. This limits the search to 5,000 members
/// per second and keeps no thread busy for long.
const BATCH: usize = 250;
const PAUSE: Duration = Duration::from_millis(50);

/// Age of the last write, in seconds, after which a file counts as complete.
const SETTLED_S: u64 = 60;

/// Interval at which the task checks that its area still exists, while a file is read.
const ALIVE: Duration = Duration::from_secs(1);

/// Maximum pause after a file. The pause lasts as long as reading the file took, to leave disk time for
/// requests.
const REST_MAX: Duration = Duration::from_secs(60);

/// Searches for files without checksums at intervals, until the area is dropped.
pub(crate) async fn keep(area: Weak<Area>) {
    loop {
        let Some(held) = area.upgrade() else { return };
        let Some(interval) = held.plan.checksum_interval else { return };
        let (looked, name) = (Arc::clone(&held.looked), held.plan.name.clone());
        drop(held);
        let since = unix_now_s().saturating_sub(looked.began_s.load(Ordering::Relaxed));
        if since < interval.0 / 1_000 || looked.is_looking.swap(true, Ordering::Relaxed) {
            sleep(LOOK.min(interval.duration())).await;
            continue;
        }
        looked.began_s.store(unix_now_s(), Ordering::Relaxed);
        match look(&area).await {
            Ok(true) => {}
            // The area is gone. The next owner of the tree searches again.
            Ok(false) => looked.began_s.store(0, Ordering::Relaxed),
            Err(error) => eprintln!("weir: storage area {name}: missing checksums: {error}"),
        }
        looked.is_looking.store(false, Ordering::Relaxed);
    }
}

/// A directory to read, or the rest of one.
enum Place {
    Whole(DavPath),
    Rest(DavPath, Listing),
}

/// Result of examining some members of a directory.
#[derive(Default)]
struct Found {
    rest: Option<(DavPath, Listing)>,
    directories: Vec<DavPath>,
    /// Files without checksums.
    files: Vec<DavPath>,
}

/// Examines all files. Returns false if the area is gone.
async fn look(area: &Weak<Area>) -> Result<bool, String> {
    let mut places = vec![Place::Whole(DavPath::root())];
    while let Some(place) = places.pop() {
        let Some(held) = area.upgrade() else { return Ok(false) };
        let (tree, algorithms) = (Arc::clone(&held.tree), held.plan.checksums.clone());
        let found = held.own_disk.run_on(move || Ok(members(&tree, place, &algorithms)));
        let Found { rest, directories, files } = found.await.map_err(|error| error.to_string())?;
        drop(held);
        places.extend(rest.map(|(path, listing)| Place::Rest(path, listing)));
        places.extend(directories.into_iter().map(Place::Whole));
        for file in files {
            if !compute(area, file).await? {
                return Ok(false);
            }
        }
        sleep(PAUSE).await;
    }
    Ok(true)
}

/// Examines some members. Leaves missing and unreadable files for the next search. Blocks.
fn members(tree: &Arc<Tree>, place: Place, algorithms: &[Algorithm]) -> Found {
    let (path, listing) = match place {
        Place::Whole(path) => {
            let listing = tree.list(&path);
            (path, listing)
        }
        Place::Rest(path, listing) => (path, Ok(listing)),
    };
    let mut found = Found::default();
    let Ok(mut listing) = listing else { return found };
    let Ok(batch) = listing.next_batch(BATCH) else { return found };
    if batch.is_empty() {
        return found;
    }
    for entry in batch.into_iter().filter(|entry| !entry.link) {
        let Ok(full) = path.join(&entry.name) else { continue };
        if entry.metadata.is_directory() {
            found.directories.push(full);
        } else if is_settled(&entry.metadata)
            && missing(tree, &full, algorithms).is_ok_and(|missing| !missing.is_empty())
        {
            found.files.push(full);
        }
    }
    found.rest = Some((path, listing));
    found
}

/// Returns true if the file was not written recently.
fn is_settled(file: &Metadata) -> bool {
    file.modified.unix_s() <= unix_now_s().saturating_sub(SETTLED_S)
}

/// Returns the algorithms for which the file has no checksum. Blocks.
fn missing(
    tree: &Arc<Tree>,
    path: &DavPath,
    algorithms: &[Algorithm],
) -> Result<Vec<Algorithm>, StorageError> {
    let file = tree.open(path)?;
    let known = tree.checksums(path, &file)?;
    let is_known = |algorithm: &&Algorithm| known.iter().any(|digest| digest.algorithm() == **algorithm);
    Ok(algorithms.iter().filter(|algorithm| !is_known(algorithm)).copied().collect())
}

/// Computes the missing checksums of a file. Returns false if the area is gone.
async fn compute(area: &Weak<Area>, path: DavPath) -> Result<bool, String> {
    let Some(held) = area.upgrade() else { return Ok(false) };
    let (tree, algorithms, disk) =
        (Arc::clone(&held.tree), held.plan.checksums.clone(), held.own_disk.clone());
    drop(held);
    let cancelled = Arc::new(AtomicBool::new(false));
    let (at, stops) = (path.clone(), Arc::clone(&cancelled));
    let begun = Instant::now();
    let mut computing = Box::pin(disk.run_long(move || {
        let missing_before = missing(&tree, &at, &algorithms)?;
        if !missing_before.is_empty() {
            let file = tree.open(&at)?;
            if !is_settled(file.metadata()) {
                // The file was written since it was found. Leave it for the next search.
                return Ok(true);
            }
            tree.compute_checksums(&at, &file, &missing_before, &stops)?;
        }
        Ok(missing(&tree, &at, &algorithms)?.is_empty())
    }));
    let computed = loop {
        match timeout(ALIVE, &mut computing).await {
            Ok(computed) => break computed,
            Err(_) if area.strong_count() == 0 => cancelled.store(true, Ordering::Relaxed),
            Err(_) => {}
        }
    };
    match computed {
        Ok(true) => {}
        // If they cannot be stored, reading all files would be in vain, at each search.
        Ok(false) => return Err(format!("those of {} cannot be kept", path.href(false))),
        Err(StorageError::Cancelled) => return Ok(false),
        // The file was removed, changed or is unreadable. Leave it for the next search.
        Err(_) => {}
    }
    sleep(begun.elapsed().min(REST_MAX)).await;
    Ok(true)
}
