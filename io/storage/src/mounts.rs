//! Mount points within a tree. A directory that holds a mount point is not removed, replaced or moved, and
//! removals never enter another file system.

use std::ffi::OsStr;
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::{Mode, OFlags, ResolveFlags, openat2, readlink};
use rustix::io::Errno;
use weir_dav::path::DavPath;

use crate::metadata::Found;
use crate::{StorageError, Tree};

impl Tree {
    /// Refuses if something is mounted on the member `name` of `home`, or below it. Without /proc this finds
    /// no mount point; then only [`open_unmounted`] protects the content of a mounted file system.
    ///
    /// # Errors
    /// [`StorageError::Mounted`] with the mount point's path below the member.
    pub(crate) fn require_no_mount(home: &OwnedFd, name: &[u8]) -> Result<(), (DavPath, StorageError)> {
        let link = format!("/proc/self/fd/{}", home.as_raw_fd());
        let (Ok(path), Ok(mounts)) = (readlink(link, Vec::new()), std::fs::read("/proc/self/mountinfo"))
        else {
            return Ok(());
        };
        let top = [path.as_bytes(), b"/", name].concat();
        let found = points_below(&mounts, &top).find(|below| is_mounted(home, name, below));
        found.map_or(Ok(()), |below| Err((below, StorageError::Mounted)))
    }
}

/// Opens a member that is a directory itself, not a link, and in the same mount as `home`.
///
/// # Errors
/// EXDEV if something is mounted there.
pub(crate) fn open_unmounted(home: impl AsFd, name: &[u8]) -> Result<OwnedFd, Errno> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let how = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_XDEV;
    openat2(home, name, flags, Mode::empty(), how)
}

/// Returns the mount points at and below `top`, as paths relative to it. `mounts` is the text of
/// /proc/self/mountinfo (proc(5)).
fn points_below<'a>(mounts: &'a [u8], top: &'a [u8]) -> impl Iterator<Item = DavPath> + 'a {
    // Splitting into names ignores the slash at the end of the root directory.
    let top = names(top).collect::<Vec<_>>();
    mounts.split(|byte| *byte == b'\n').filter_map(move |line| {
        let point = unescape(line.split(|byte| *byte == b' ').nth(4)?);
        let mut rest = names(&point);
        if !top.iter().all(|name| rest.next() == Some(*name)) {
            return None;
        }
        rest.try_fold(DavPath::root(), |path, name| path.join(name).ok())
    })
}

fn names(path: &[u8]) -> impl Iterator<Item = &[u8]> {
    path.split(|byte| *byte == b'/').filter(|name| !name.is_empty())
}

/// Decodes blanks, tabs, line feeds and backslashes, which mountinfo writes as three octal digits.
fn unescape(text: &[u8]) -> Vec<u8> {
    let (mut plain, mut rest) = (Vec::with_capacity(text.len()), text);
    while let Some((&first, after)) = rest.split_first() {
        let digits = after.first_chunk::<3>().filter(|_| first == b'\\');
        let code = digits.and_then(|digits| u8::from_str_radix(std::str::from_utf8(digits).ok()?, 8).ok());
        plain.push(code.unwrap_or(first));
        rest = if code.is_some() { &after[3..] } else { after };
    }
    plain
}

/// Returns whether the mount point is visible from here: another mount may hide it.
fn is_mounted(home: &OwnedFd, name: &[u8], below: &DavPath) -> bool {
    let mut path = PathBuf::from(OsStr::from_bytes(name));
    path.extend(below.segments().map(OsStr::from_bytes));
    let how = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS;
    match openat2(home, path, OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC, Mode::empty(), how) {
        // Kernels before Linux 5.8 do not report it; then it counts as mounted.
        Ok(found) => Found::of(found).map_or(true, |found| found.is_mount_point().unwrap_or(true)),
        Err(Errno::NOENT | Errno::NOTDIR) => false,
        Err(_) => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mount_points_are_found_at_a_directory_and_below_it_by_their_unescaped_names() {
        let mounts = b"22 1 8:1 / / rw - ext4 /dev/sda1 rw\n\
            30 22 0:5 / /srv/a rw shared:1 - tmpfs none rw\n\
            31 22 0:6 / /srv/a/two\\040words\\134/m rw - tmpfs none rw\n\
            32 22 0:7 / /srv/ab rw - tmpfs none rw\n\
            33 22 0:8 /f /srv/a/back\\slash rw - tmpfs none rw\n";
        let below = |top: &[u8]| points_below(mounts, top).map(|path| path.href(false)).collect::<Vec<_>>();
        assert_eq!(below(b"/srv/a"), ["/", "/two%20words%5C/m", "/back%5Cslash"]);
        assert_eq!(below(b"/srv/a/two words\\"), ["/m"]);
        assert_eq!(below(b"//srv"), ["/a", "/a/two%20words%5C/m", "/ab", "/a/back%5Cslash"]);
        assert!(below(b"/srv/a/b").is_empty());
    }
}
