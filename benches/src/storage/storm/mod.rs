//! Comparison of StoRM WebDAV with Weir:
//!
//! - StoRM alone;
//! - StoRM behind balancers that pass its responses on;
//! - StoRM behind NGINX and Weir that send the files which it names (`X-Accel-Redirect`);
//! - Weir's own storage area with the same files.
//!
//! It repeats two published experiments: a single large download (curl; thesis, Bologna 2023/24), and the
//! service with its GETs offloaded to NGINX (ISGC 2024). They used other machines, so only ratios are
//! comparable.
//!
//! The jar is not part of this project; a variable gives its path. Without it, nothing is measured.

mod figures;
mod many;
mod service;
mod single;
mod transfers;
mod ways;

use std::fs::File;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use super::server::root_on_disk;
use super::{GIB, MIB, Outcome};
use crate::error::{Context, Error, Result};
use crate::options::Storage;
use crate::workshop::Workshop;
use service::Jar;

/// Runs the experiments, if there is a jar.
pub(super) fn run(options: &Storage) -> Result<Outcome> {
    let Some(jar) = Jar::from_environment()? else {
        if options.only.iter().any(|only| only == "storm") {
            return Err(Error::new("STORM is not set: it must be the path of storm-webdav-server.jar"));
        }
        let table =
            "## StoRM WebDAV\n\nNot measured: STORM=/path/to/storm-webdav-server.jar names its jar.\n";
        return Ok(Outcome { table: table.to_owned(), kept: true });
    };
    let root = root_on_disk()?;
    let bench = Bench {
        workshop: Workshop::open()?,
        files: fill(root.path(), large_bytes(options))?,
        root: root.path().to_owned(),
        jar,
        options,
    };
    // Prints each table as soon as it is complete, because the experiments take long.
    println!("\n{}", single::run(&bench)?);
    for load in many::LOADS {
        println!("\n{}", many::run(&bench, load)?);
    }
    // There are no requirements here, so there is no verdict.
    Ok(Outcome { table: many::PUBLISHED.to_owned(), kept: true })
}

/// Data that all measurements share.
struct Bench<'a> {
    workshop: Workshop,
    jar: Jar,
    /// Directory that Weir's storage area serves.
    root: PathBuf,
    /// Directory that StoRM serves, below `root`, so that every URL is the same for both.
    files: PathBuf,
    options: &'a Storage,
}

impl Bench<'_> {
    fn large_bytes(&self) -> u64 {
        large_bytes(self.options)
    }

    /// Returns the length of a turn in seconds, unless it is a number of files.
    fn seconds(&self) -> u64 {
        let at_least = if self.options.full { 10 } else { 1 };
        self.options.seconds.max(at_least)
    }
}

fn large_bytes(options: &Storage) -> u64 {
    if options.full { GIB } else { GIB / 4 }
}

/// Directory of the files in URLs, as in `/data/1m`.
const DIRECTORY: &str = "data";

const SMALL: &str = "/data/1m";
const SMALL_BYTES: u64 = MIB;
const LARGE: &str = "/data/large";

/// File for readiness checks.
const READY: &str = "/data/ready";

/// Creates the files; their content is in the page cache afterwards. Returns their directory.
fn fill(root: &Path, large_bytes: u64) -> Result<PathBuf> {
    let directory = root.join(DIRECTORY);
    std::fs::create_dir(&directory).context(directory.display())?;
    let block: Vec<u8> = (0..MIB).map(|at| (at.wrapping_mul(0x9e37_79b9) >> 13) as u8).collect();
    for (name, bytes) in [("ready", 2), ("1m", SMALL_BYTES), ("large", large_bytes)] {
        let path = directory.join(name);
        let mut file = File::create(&path).context(path.display())?;
        let (mut left, mut sum) = (bytes, Adler32::default());
        while left > 0 {
            let piece = &block[..left.min(MIB) as usize];
            file.write_all(piece).context(path.display())?;
            sum.add(piece);
            left -= piece.len() as u64;
        }
        file.sync_all().context(path.display())?;
        // Stores the checksum as StoRM does after an upload; StoRM logs a complaint for each request of a
        // file without one. It fails if the disk has no extended attributes.
        let value = format!("{:08x}", sum.value());
        let flags = rustix::fs::XattrFlags::empty();
        let _ = rustix::fs::fsetxattr(&file, "user.storm.checksum.adler32", value.as_bytes(), flags);
    }
    Ok(directory)
}

/// Adler-32 checksum (RFC 1950 section 9).
struct Adler32 {
    a: u32,
    b: u32,
}

impl Default for Adler32 {
    fn default() -> Self {
        Self { a: 1, b: 0 }
    }
}

impl Adler32 {
    fn add(&mut self, bytes: &[u8]) {
        const BASE: u32 = 65_521;
        // This number of bytes cannot overflow the sums.
        for chunk in bytes.chunks(5552) {
            for &byte in chunk {
                self.a += u32::from(byte);
                self.b += self.a;
            }
            self.a %= BASE;
            self.b %= BASE;
        }
    }

    fn value(&self) -> u32 {
        self.b << 16 | self.a
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_checksum_is_adler_32() {
        // The first value is the usual example for this word; the other one is zlib's.
        for (text, expected) in
            [("Wikipedia".to_owned(), 0x11e6_0398), ("\u{7f}".repeat(20_000), 0xa8bf_c41b)]
        {
            let mut sum = Adler32::default();
            sum.add(text.as_bytes());
            assert_eq!(sum.value(), expected);
        }
    }

    #[test]
    fn files_have_their_size_and_lie_below_the_directory_of_the_urls() {
        let root = tempfile::tempdir().unwrap();
        let directory = fill(root.path(), 3 * MIB + 1).unwrap();
        let bytes = |url: &str| std::fs::metadata(root.path().join(&url[1..])).unwrap().len();
        assert_eq!((bytes(READY), bytes(SMALL), bytes(LARGE)), (2, SMALL_BYTES, 3 * MIB + 1));
        assert_eq!(directory, root.path().join(DIRECTORY));
    }
}
