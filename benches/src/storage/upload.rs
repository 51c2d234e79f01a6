//! Uploads with and without a checksum.

use std::fmt::Write as _;
use std::time::Instant;

use super::client::Client;
use super::server::{WeirSetup, root_in_memory, start_weir};
use super::{GIB, MIB, Outcome, verdict};
use crate::error::{Error, Result};
use crate::options::Storage;
use crate::statistics::Spread;
use crate::workshop::Workshop;

/// Lowest accepted ratio of the rate with a checksum to the rate without one.
const RATIO_MIN: f64 = 0.80;

/// Name, bytes, and number of uploads in a turn.
const UPLOADS: [(&str, u64, usize); 2] = [("1 MB", MIB, 500), ("1 GB", GIB, 1)];

/// Measures the cost of an Adler-32 for uploads into memory. With a disk, the checksum's share would only be
/// smaller.
pub(super) fn run(options: &Storage) -> Result<Outcome> {
    let workshop = Workshop::open()?;
    let mut kept = true;
    let mut table = "## Uploads, into memory\n\n| file | with Adler-32 | without | ratio: median (min..max) | |\n|---|---|---|---|---|\n".to_owned();
    for (name, bytes, times) in UPLOADS {
        let (mut with, mut without) = (Vec::new(), Vec::new());
        for turn in 0..options.turns() {
            let order = if turn % 2 == 0 { [true, false] } else { [false, true] };
            for has_checksum in order {
                let checksums = if has_checksum { "\"adler32\"" } else { "[]" };
                let rate = measure(&workshop, checksums, bytes, times)?;
                eprintln!("upload {name}: checksums {checksums}, turn {}: {rate:.0} MiB/s", turn + 1);
                if has_checksum { with.push(rate) } else { without.push(rate) }
            }
        }
        let Some(Spread { min, median, max }) = Spread::of(with.iter().zip(&without).map(|(a, b)| a / b))
        else {
            continue;
        };
        let rate = |rates: &[f64]| Spread::of(rates.iter().copied()).map_or(0.0, |spread| spread.median);
        kept &= median >= RATIO_MIN;
        let _ = writeln!(
            table,
            "| {name} | {:.0} MiB/s | {:.0} MiB/s | {median:.2} ({min:.2}..{max:.2}) | {} |",
            rate(&with),
            rate(&without),
            verdict(median >= RATIO_MIN),
        );
    }
    Ok(Outcome { table, kept })
}

/// Returns the rate in MiB/s.
fn measure(workshop: &Workshop, checksums: &str, bytes: u64, times: usize) -> Result<f64> {
    let root = root_in_memory()?;
    let setup = WeirSetup { checksums, durability: "none", ..WeirSetup::PLAIN };
    let server = start_weir(workshop, root.path(), setup)?;
    let mut client = Client::connect(server.address)?;
    let block: Vec<u8> = (0..MIB).map(|at| (at.wrapping_mul(0x9e37_79b9) >> 13) as u8).collect();
    let mut upload = |name: &str, bytes: u64| -> Result<()> {
        client.send_head("PUT", &format!("/{name}"), &format!("Content-Length: {bytes}\r\n"))?;
        let mut left = bytes;
        while left > 0 {
            let piece = left.min(MIB);
            client.send(&block[..piece as usize])?;
            left -= piece;
        }
        let head = client.head()?;
        client.skip_body(&head)?;
        match head.status {
            201 | 204 => Ok(()),
            status => Err(Error::new(format!("PUT of {bytes} bytes: status {status}"))),
        }
    };
    upload("warm", MIB)?;
    let since = Instant::now();
    for at in 0..times {
        upload(&format!("f{}", at % 8), bytes)?;
    }
    Ok((bytes * times as u64) as f64 / MIB as f64 / since.elapsed().as_secs_f64())
}
