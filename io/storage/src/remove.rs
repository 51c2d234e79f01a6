//! Removal of files and directories, and walks over whole trees.

use std::sync::Arc;

use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::fs::{AtFlags, Dir, Mode, OFlags, ResolveFlags, openat2, unlinkat};
use rustix::io::Errno;
use weir_dav::path::DavPath;

use crate::gate::{Gate, pass};
use crate::ledger::Tally;
use crate::metadata::Found;
use crate::mode::set_mode;
use crate::mounts::open_unmounted;
use crate::notes;
use crate::temporary::Temporary;
use crate::{Durability, Failure, StorageError, Tree, reserved};

/// Deepest nesting of directories that is entered. Deeper ones can only come from other programs.
pub(crate) const DEPTH_MAX: usize = 512;

impl Tree {
    /// Removes a file, or a directory with its content. Blocks.
    ///
    /// A directory disappears as a whole: it is first renamed to a reserved name. If something in it cannot
    /// be removed, the rest of it gets its name back. A symbolic link is removed itself, not its target.
    pub fn remove(self: &Arc<Self>, path: &DavPath, durability: Durability) -> Result<(), Failure> {
        self.remove_through(path, durability, &mut |step| step())
    }

    /// Removes like [`Self::remove`], with a gate before the visible step.
    pub fn remove_through(
        self: &Arc<Self>,
        path: &DavPath,
        durability: Durability,
        gate: &mut Gate<'_>,
    ) -> Result<(), Failure> {
        let failed = |error| Failure { path: path.clone(), error };
        let (home, name) = self.resolve_parent(path).map_err(|error| failed(error.of_source()))?;
        let found = Self::look(&home, name).map_err(failed)?.ok_or(failed(StorageError::NotFound))?;
        if !found.is_directory() {
            let turn = self.turn_at(&home, name).map_err(failed)?;
            let tally = self.tally_of_file(&home, name, &found);
            pass(gate, || {
                unlinkat(&home, name, AtFlags::empty()).map_err(StorageError::from_errno("unlink"))
            })
            .map_err(failed)?;
            drop(turn);
            self.ledger.gone(tally);
            notes::forget(&home, name, found.inode());
            return durability.sync_directory(&home).map_err(failed);
        }
        self.remove_directory(path, &home, name, gate)?;
        durability.sync_directory(&home).map_err(failed)
    }

    fn remove_directory(
        &self,
        path: &DavPath,
        home: &OwnedFd,
        name: &[u8],
        gate: &mut Gate<'_>,
    ) -> Result<(), Failure> {
        let failed = |(below, error): (DavPath, _)| Failure { path: path.append(&below), error };
        Self::require_no_mount(home, name).map_err(failed)?;
        let parent = path.parent().unwrap_or_default();
        let turn = self.turn_at(home, name).map_err(|error| failed((DavPath::root(), error)))?;
        let hidden = pass(gate, || {
            let own_home = home.try_clone().map_err(|_| StorageError::Cancelled)?;
            // A failed renaming does not end the removal yet.
            Ok(Temporary::displace(self, own_home, &parent, name, true))
        });
        drop(turn);
        match hidden.map_err(|error| failed((DavPath::root(), error)))? {
            Ok(mut hidden) => {
                let tally = hidden.tally(self);
                if let Err(failure) = hidden.remove() {
                    self.ledger.gone(tally.without(hidden.tally(self)));
                    // The rest must not stay hidden. This fails if another directory has taken the name
                    // meanwhile.
                    let _ = hidden.place(name, crate::rename::Replace::Never);
                    return Err(failed(failure));
                }
                self.ledger.gone(tally);
                Ok(())
            }
            Err(StorageError::NotFound) => Err(failed((DavPath::root(), StorageError::NotFound))),
            Err(StorageError::Mounted) => Err(failed((DavPath::root(), StorageError::Mounted))),
            // This process may not rename the directory, so its content is removed in place.
            Err(_) => {
                let tally = self.tally_at(home, name);
                let removed = remove_tree(home, name);
                let left = if removed.is_ok() { Tally::default() } else { self.tally_at(home, name) };
                self.ledger.gone(tally.without(left));
                removed.map_err(failed)
            }
        }
    }

    /// Returns the space that a directory and everything below it use.
    pub(crate) fn tally_at(&self, home: impl AsFd, name: &[u8]) -> Tally {
        let Ok(found) = Found::in_directory(&home, name) else { return Tally::default() };
        let Ok(directory) = open_directory(&home, name) else { return Tally::default() };
        let properties = notes::properties_in_attribute(home.as_fd(), name);
        let mut tally = Tally::of(&found, self.ledger.began()).with_properties(properties);
        tally.join(self.tally(directory));
        tally
    }
}

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
