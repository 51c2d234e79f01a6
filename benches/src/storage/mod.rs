//! Cost of file serving. Weir's storage areas are compared with NGINX with the same files, on the same core,
//! in turns. Uploads with a checksum are compared with uploads without one. Large directories and files show
//! whether the server's memory is bounded. StoRM WebDAV takes part if its jar is given.

mod client;
mod download;
mod giant;
mod listing;
mod server;
mod storm;
mod upload;

use crate::error::Result;
use crate::machine;
use crate::options::Storage;

/// Runs `storage`. Returns whether all requirements were met.
pub(crate) fn run(options: &Storage) -> Result<bool> {
    machine::prepare(8192)?;
    let parts: [(&str, Part); 5] = [
        ("download", download::run),
        ("upload", upload::run),
        ("listing", listing::run),
        ("giant", giant::run),
        ("storm", storm::run),
    ];
    let mut kept = true;
    for (name, part) in parts {
        if !options.only.is_empty() && !options.only.iter().any(|only| only == name) {
            continue;
        }
        let outcome = part(options)?;
        println!("\n{}", outcome.table);
        kept &= outcome.kept;
    }
    Ok(kept)
}

type Part = fn(&Storage) -> Result<Outcome>;

/// Result of a part.
struct Outcome {
    /// Markdown.
    table: String,
    kept: bool,
}

/// Returns the text for a table's last column.
fn verdict(kept: bool) -> &'static str {
    if kept { "kept" } else { "**missed**" }
}

const MIB: u64 = 1 << 20;
const GIB: u64 = 1 << 30;
