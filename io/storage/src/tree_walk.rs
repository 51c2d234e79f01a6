//! Walks over whole directory trees: to visit, to remove, to open up.

use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::fs::{AtFlags, Dir, Mode, OFlags, ResolveFlags, openat2, unlinkat};
use rustix::io::Errno;
use weir_dav::path::DavPath;

use crate::metadata::Found;
use crate::mode::set_mode;
use crate::mounts::open_unmounted;
use crate::{StorageError, Tree, reserved};

/// Deepest nesting of directories that is entered. Deeper ones can only come from other programs.
pub(crate) const DEPTH_MAX: usize = 512;

/// Removes a directory and its content. Removes links and not their targets, and enters no mounted file
/// system. Returns the first member that could not be removed.
pub(crate) fn remove_tree(home: impl AsFd, name: &[u8]) -> Result<(), (DavPath, StorageError)> {
    remove_at_depth(home, name, &DavPath::root(), 0)
}

fn remove_at_depth(
    home: impl AsFd,
    name: &[u8],
    path: &DavPath,
    depth: usize,
) -> Result<(), (DavPath, StorageError)> {
    let failed = |call: &'static str| {
        let path = path.clone();
        move |errno| (path, StorageError::from_errno(call)(errno))
    };
    if depth > DEPTH_MAX {
        return Err((path.clone(), StorageError::NameTooLong));
    }
    let directory = match open_unmounted(&home, name) {
        Err(Errno::XDEV) => return Err((path.clone(), StorageError::Mounted)),
        opened => opened.map_err(failed("open"))?,
    };
    loop {
        // Reads names first: the result of reading a directory while entries are removed is undefined.
        let mut names = Vec::new();
        let mut members = Dir::read_from(&directory).map_err(failed("open"))?;
        while let Some(read) = members.read() {
            let read = read.map_err(failed("getdents"))?;
            let member = read.file_name().to_bytes();
            if !matches!(member, b"." | b"..") {
                names.push(member.to_vec());
            }
            if names.len() == 1_024 {
                break;
            }
        }
        if names.is_empty() {
            break;
        }
        for member in names {
            let below = path.join(&member).unwrap_or_else(|_| path.clone());
            match unlinkat(&directory, &member, AtFlags::empty()) {
                Ok(()) | Err(Errno::NOENT) => {}
                // POSIX specifies EPERM for a directory.
                Err(Errno::ISDIR | Errno::PERM) => remove_at_depth(&directory, &member, &below, depth + 1)?,
                Err(errno) => return Err((below, StorageError::from_errno("unlink")(errno))),
            }
        }
    }
    unlinkat(&home, name, AtFlags::REMOVEDIR).map_err(failed("rmdir"))
}

/// Gives the owner all permissions on a directory and those below it.
pub(crate) fn open_up(home: impl AsFd, name: &[u8]) {
    open_up_at_depth(home.as_fd(), name, 0);
}

fn open_up_at_depth(home: BorrowedFd<'_>, name: &[u8], depth: usize) {
    let is_ours = |found: &Found| found.is_directory() && found.is_mount_point() != Some(true);
    if depth > DEPTH_MAX || set_mode(home, name, Mode::RWXU, is_ours).is_err() {
        return;
    }
    let Ok(directory) = open_unmounted(home, name) else { return };
    let Ok(mut members) = Dir::read_from(&directory) else { return };
    while let Some(Ok(member)) = members.read() {
        let name = member.file_name().to_bytes();
        if !matches!(name, b"." | b"..") {
            open_up_at_depth(directory.as_fd(), name, depth + 1);
        }
    }
}

/// Opens a member that is a directory itself, not a link to one.
pub(crate) fn open_directory(home: impl AsFd, name: &[u8]) -> Result<OwnedFd, Errno> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    openat2(home, name, flags, Mode::empty(), ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS)
}

impl Tree {
    /// Calls `visit` with the path of everything below a directory and whether it is a directory. A directory
    /// comes before its content. Links are visited and not followed. Weir's own files are left out. Blocks.
    pub fn survey(
        &self,
        path: &DavPath,
        visit: &mut dyn FnMut(&DavPath, bool) -> Result<(), StorageError>,
    ) -> Result<(), StorageError> {
        survey_found(self.resolve_directory(path)?, path, &reserved::is_reserved, &mut |path, found, _| {
            visit(path, found.is_directory())
        })
    }
}

/// Calls `visit` like [`Tree::survey`], with all metadata and the containing directory. `path` is the
/// directory's path; `is_hidden` selects names that are left out.
pub(crate) fn survey_found(
    directory: OwnedFd,
    path: &DavPath,
    is_hidden: &dyn Fn(&[u8]) -> bool,
    visit: &mut dyn FnMut(&DavPath, &Found, &OwnedFd) -> Result<(), StorageError>,
) -> Result<(), StorageError> {
    survey_at_depth(directory, path, is_hidden, visit, 0)
}

fn survey_at_depth(
    directory: OwnedFd,
    path: &DavPath,
    is_hidden: &dyn Fn(&[u8]) -> bool,
    visit: &mut dyn FnMut(&DavPath, &Found, &OwnedFd) -> Result<(), StorageError>,
    depth: usize,
) -> Result<(), StorageError> {
    if depth > DEPTH_MAX {
        return Err(StorageError::NameTooLong);
    }
    let mut members = Dir::read_from(&directory).map_err(StorageError::from_errno("open"))?;
    while let Some(read) = members.read() {
        let read = read.map_err(StorageError::from_errno("getdents"))?;
        let name = read.file_name().to_bytes();
        if matches!(name, b"." | b"..") || is_hidden(name) {
            continue;
        }
        let Some(found) = Tree::look(&directory, name)? else { continue };
        let below = path.join(name).map_err(|_| StorageError::Refused)?;
        visit(&below, &found, &directory)?;
        if found.is_directory() {
            match open_directory(&directory, name) {
                Ok(inner) => survey_at_depth(inner, &below, is_hidden, visit, depth + 1)?,
                Err(Errno::NOENT) => {}
                Err(errno) => return Err(StorageError::from_errno("open")(errno)),
            }
        }
    }
    Ok(())
}
