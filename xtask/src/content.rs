//! Copies files to names that are derived from their content.

use std::fs;
use std::path::{Path, PathBuf};

/// Copies `from` into `directory` under a name that changes with the content. Cargo rebuilds when a path in
/// its arguments changes, but not when the file at that path does.
///
/// # Errors
/// If the file cannot be read or the copy cannot be written.
pub(crate) fn named_by_content(from: &Path, directory: &Path) -> Result<PathBuf, String> {
    let content = fs::read(from).map_err(|error| format!("{}: {error}", from.display()))?;
    let extension = from.extension().unwrap_or_default();
    let to = directory.join(format!("{:016x}", fnv1a(&content))).with_extension(extension);
    // An identical copy is not written again: a newer file would make cargo rebuild the crates that were
    // built with it.
    if fs::read(&to).is_ok_and(|there| there == content) {
        return Ok(to);
    }
    fs::create_dir_all(directory).map_err(|error| format!("{}: {error}", directory.display()))?;
    fs::copy(from, &to).map_err(|error| format!("{}: {error}", to.display()))?;
    Ok(to)
}

/// Returns the 64-bit FNV-1a hash, which is enough to distinguish versions of a file.
pub(crate) fn fnv1a(bytes: &[u8]) -> u64 {
    bytes
        .iter()
        .fold(0xcbf2_9ce4_8422_2325, |hash, &byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, SystemTime};

    use super::*;

    #[test]
    fn the_number_is_that_of_fnv_1a() {
        // Test vectors by the authors of FNV: http://www.isthe.com/chongo/src/fnv/test_fnv.c
        assert_eq!(fnv1a(b""), 0xcbf2_9ce4_8422_2325);
        assert_eq!(fnv1a(b"foobar"), 0x8594_4171_f739_67e8);
    }

    #[test]
    fn other_content_gets_another_name() {
        let directory = tempfile::tempdir().unwrap();
        let from = directory.path().join("weir.profdata");
        let mut names = Vec::new();
        for content in ["one", "two", "one"] {
            fs::write(&from, content).unwrap();
            let name = named_by_content(&from, &directory.path().join("copies")).unwrap();
            assert_eq!(fs::read_to_string(&name).unwrap(), content);
            assert_eq!(name.extension().unwrap(), "profdata");
            names.push(name);
        }
        assert_eq!(names[0], names[2]);
        assert_ne!(names[0], names[1]);
    }

    #[test]
    fn a_copy_that_is_there_already_is_not_written_again_but_a_broken_one_is() {
        let directory = tempfile::tempdir().unwrap();
        let from = directory.path().join("weir.profdata");
        fs::write(&from, "one").unwrap();
        let name = named_by_content(&from, directory.path()).unwrap();
        let long_ago = SystemTime::UNIX_EPOCH + Duration::from_secs(1);
        fs::File::open(&name).unwrap().set_modified(long_ago).unwrap();
        assert_eq!(named_by_content(&from, directory.path()).unwrap(), name);
        assert_eq!(fs::metadata(&name).unwrap().modified().unwrap(), long_ago);

        fs::write(&name, "on").unwrap();
        named_by_content(&from, directory.path()).unwrap();
        assert_eq!(fs::read_to_string(&name).unwrap(), "one");
    }
}
