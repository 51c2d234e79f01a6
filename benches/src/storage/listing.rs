//! Listings of large directories.

use std::fs::File;
use std::time::Instant;

use super::client::Client;
use super::server::{WeirSetup, root_on_disk, start_weir};
use super::{Outcome, verdict};
use crate::cpu;
use crate::error::{Context, Error, Result};
use crate::options::Storage;
use crate::statistics::Spread;
use crate::workshop::Workshop;

const ENTRIES: [usize; 2] = [100_000, 1_000_000];
const FIRST_BYTES_MS_MAX: f64 = 50.0;
/// Largest accepted growth over all listings; the responses for these directories have about 50 and 500 MB.
const GROWTH_BYTES_MAX: u64 = 8 << 20;

const ASKED: &str = "<?xml version=\"1.0\"?><D:propfind xmlns:D=\"DAV:\"><D:prop><D:getcontentlength/>\
                     <D:getlastmodified/><D:getetag/><D:resourcetype/></D:prop></D:propfind>";

/// Measures the time to the first byte of large listings, and their memory.
pub(super) fn run(options: &Storage) -> Result<Outcome> {
    let mut all = Outcome { table: String::new(), kept: true };
    for entries in ENTRIES {
        let of_one = run_with(entries, options)?;
        all.table.push_str(&of_one.table);
        all.table.push('\n');
        all.kept &= of_one.kept;
    }
    Ok(all)
}

fn run_with(entries: usize, options: &Storage) -> Result<Outcome> {
    let workshop = Workshop::open()?;
    let root = root_on_disk()?;
    let directory = root.path().join("large");
    std::fs::create_dir(&directory).context(directory.display())?;
    for at in 0..entries {
        let path = directory.join(format!("file-{at:07}.dat"));
        File::create(&path).context(path.display())?;
    }
    let server = start_weir(&workshop, root.path(), WeirSetup::PLAIN)?;
    let mut client = Client::connect(server.address)?;
    list(&mut client, "/")?;
    let before = cpu::peak_memory_bytes(server.process.pid());
    let (mut first, mut whole, mut bytes) = (Vec::new(), Vec::new(), 0);
    for _ in 0..options.turns() {
        let listed = list(&mut client, "/large/")?;
        first.push(listed.first_ms);
        whole.push(listed.whole_ms);
        bytes = listed.bytes;
    }
    // Uses the peak, which includes memory that is freed at the end of a listing.
    let growth = cpu::peak_memory_bytes(server.process.pid()).saturating_sub(before);
    let (Some(first), Some(whole)) = (Spread::of(first), Spread::of(whole)) else {
        return Err(Error::new("no listing"));
    };
    let is_soon = first.median <= FIRST_BYTES_MS_MAX;
    let is_flat = growth <= GROWTH_BYTES_MAX;
    let table = format!(
        "## PROPFIND of {entries} entries\n\n| | median (min..max) | required | |\n|---|---|---|---|\n\
         | first bytes | {:.1} ms ({:.1}..{:.1}) | < {FIRST_BYTES_MS_MAX} ms | {} |\n\
         | all of {} MiB | {:.0} ms ({:.0}..{:.0}) | | |\n\
         | peak of memory more than before | {} KiB | flat: < {} KiB | {} |\n",
        first.median,
        first.min,
        first.max,
        verdict(is_soon),
        bytes >> 20,
        whole.median,
        whole.min,
        whole.max,
        growth >> 10,
        GROWTH_BYTES_MAX >> 10,
        verdict(is_flat),
    );
    Ok(Outcome { table, kept: is_soon && is_flat })
}

struct Listed {
    first_ms: f64,
    whole_ms: f64,
    bytes: u64,
}

fn list(client: &mut Client, path: &str) -> Result<Listed> {
    let fields = format!("Depth: 1\r\nContent-Type: application/xml\r\nContent-Length: {}\r\n", ASKED.len());
    let since = Instant::now();
    client.send_head("PROPFIND", path, &fields)?;
    client.send(ASKED.as_bytes())?;
    let head = client.head()?;
    if head.status != 207 {
        return Err(Error::new(format!("PROPFIND {path}: status {}", head.status)));
    }
    client.wait_for_body()?;
    let first_ms = since.elapsed().as_secs_f64() * 1e3;
    let bytes = client.skip_body(&head)?;
    Ok(Listed { first_ms, whole_ms: since.elapsed().as_secs_f64() * 1e3, bytes })
}
