//! A download of a sparse file of 100 GiB.

use std::fs::File;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use super::client::Client;
use super::server::{WeirSetup, root_on_disk, start_weir};
use super::{GIB, Outcome, verdict};
use crate::cpu;
use crate::error::{Context, Error, Result};
use crate::options::Storage;
use crate::workshop::Workshop;

const BYTES: u64 = 100 * GIB;
/// Largest accepted growth of memory.
const GROWTH_BYTES_MAX: u64 = 4 << 20;

/// Downloads a sparse file of 100 GiB, which must not increase the memory.
pub(super) fn run(_: &Storage) -> Result<Outcome> {
    let workshop = Workshop::open()?;
    let root = root_on_disk()?;
    let path = root.path().join("giant");
    File::create(&path).and_then(|file| file.set_len(BYTES)).context(path.display())?;
    let server = start_weir(&workshop, root.path(), WeirSetup::PLAIN)?;
    let pid = server.process.pid();
    let mut client = Client::connect(server.address)?;
    client.send_head("GET", "/health", "")?;
    let head = client.head()?;
    client.skip_body(&head)?;

    let before = cpu::memory_bytes(pid);
    let done = AtomicBool::new(false);
    let since = Instant::now();
    let (read, highest) = std::thread::scope(|scope| {
        let watch = scope.spawn(|| {
            let mut highest = 0;
            while !done.load(Ordering::Relaxed) {
                highest = cpu::memory_bytes(pid).max(highest);
                std::thread::sleep(Duration::from_millis(200));
            }
            highest
        });
        let read = client.send_head("GET", "/giant", "").and_then(|()| {
            let head = client.head()?;
            client.skip_body(&head)
        });
        done.store(true, Ordering::Relaxed);
        (read, watch.join().unwrap_or(u64::MAX))
    });
    let read = read?;
    if read != BYTES {
        return Err(Error::new(format!("{read} of {BYTES} bytes came")));
    }
    let growth = highest.saturating_sub(before);
    let is_flat = growth <= GROWTH_BYTES_MAX;
    let table = format!(
        "## A sparse file of {} GiB\n\n{} MiB/s; memory grew by {} KiB at the most (flat: < {} KiB): {}\n",
        BYTES / GIB,
        (BYTES >> 20) / since.elapsed().as_secs().max(1),
        growth >> 10,
        GROWTH_BYTES_MAX >> 10,
        verdict(is_flat),
    );
    Ok(Outcome { table, kept: is_flat })
}
