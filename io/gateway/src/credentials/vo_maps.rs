//! Files that map certificate subjects to virtual organisations.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read;
use std::path::PathBuf;

use weir_access::identity::VoMap;

/// Maximum file size in bytes, enough for a hundred thousand members.
const BYTES_MAX: u64 = 32 << 20;

/// Reads the files, given by the name of their organisation. Blocks.
pub(crate) fn read(maps: &BTreeMap<String, PathBuf>) -> Result<VoMap, String> {
    let mut all = VoMap::default();
    for (vo, path) in maps {
        let failed = |cause: &dyn std::fmt::Display| format!("{}: {cause}", path.display());
        let mut text = String::new();
        let file = File::open(path).map_err(|cause| failed(&cause))?;
        // One byte more than the limit shows that the file is too long.
        file.take(BYTES_MAX + 1).read_to_string(&mut text).map_err(|cause| failed(&cause))?;
        if text.len() as u64 > BYTES_MAX {
            return Err(failed(&format!("longer than {BYTES_MAX} bytes")));
        }
        all.add_file(vo, &text).map_err(|cause| failed(&cause))?;
    }
    Ok(all)
}

/// Checks that the files are valid. Blocks.
///
/// # Errors
/// If a file is invalid. The message names the file and the cause.
pub fn check_vo_maps(maps: &BTreeMap<String, PathBuf>) -> Result<(), String> {
    read(maps).map(drop)
}
