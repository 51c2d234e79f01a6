//! Finds the system libraries that an ELF program needs.

use std::fs;
use std::path::Path;

/// Returns the Depends line for a program: the C library, at least at the newest symbol version that the
/// program uses, and libgcc for unwinding.
///
/// # Errors
/// If the program cannot be read, or if it names no glibc version, which every Linux build of Weir does.
pub(super) fn depends(binary: &Path) -> Result<String, String> {
    let content = fs::read(binary).map_err(|error| format!("{}: {error}", binary.display()))?;
    let (major, minor) = newest_glibc(&content)
        .ok_or_else(|| format!("{}: refers to no GLIBC_ symbol version", binary.display()))?;
    Ok(format!("libc6 (>= {major}.{minor}), libgcc-s1"))
}

/// Returns the highest `GLIBC_x.y` among the program's version strings.
fn newest_glibc(content: &[u8]) -> Option<(u32, u32)> {
    const PREFIX: &[u8] = b"GLIBC_";
    let starts = content.windows(PREFIX.len()).enumerate().filter(|(_, window)| *window == PREFIX);
    let versions = starts.filter_map(|(at, _)| {
        let rest = &content[at + PREFIX.len()..];
        let end = rest.iter().position(|&byte| byte != b'.' && !byte.is_ascii_digit())?;
        let mut numbers = std::str::from_utf8(&rest[..end]).ok()?.split('.');
        Some((numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?))
    });
    versions.max()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_version_wins_by_number_and_not_by_text() {
        let content = b"\0GLIBC_2.9\0GLIBC_2.34\0GLIBC_2.4\0GLIBC_PRIVATE\0";
        assert_eq!(newest_glibc(content), Some((2, 34)));
    }

    #[test]
    fn a_file_without_versions_has_none() {
        assert_eq!(newest_glibc(b"\x7fELF and no libc"), None);
    }
}
