//! Copies of files and directories.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::fs::{OFlags, mkdirat, openat};
use weir_dav::path::DavPath;

use crate::content::copy_with_checksums;
use crate::displaced::Displaced;
use crate::fingerprint::Fingerprint;
use crate::gate::{Gate, pass};
use crate::ledger::{Claim, Tally};
use crate::metadata::Found;
use crate::notes::{self, Note, Side};
use crate::permissions::Permissions;
use crate::purpose::Purpose;
use crate::rename::Replace;
use crate::temporary::Temporary;
use crate::tree_walk::open_directory;
use crate::{Durability, Failure, FileKind, OpenFile, StorageError, Transferred, Tree, checksums};

/// Options of a copy.
#[derive(Debug, Clone, Copy)]
pub struct CopyOptions {
    /// True to copy a directory's content; false to create an empty directory with its properties.
    pub deep: bool,
    /// True to replace what is at the destination.
    pub overwrite: bool,
    /// Data that must be on the disk when the copy is reported as done.
    pub durability: Durability,
}

/// Callback that decides whether a member of the source may be read.
pub type MayCopy<'a> = dyn FnMut(&DavPath, FileKind) -> bool + 'a;

/// Deepest nesting of directories.
const DEPTH_MAX: usize = 256;

impl Tree {
    /// Copies a file or a directory, with dead properties and checksums. Blocks for a long time.
    ///
    /// The copy is made invisibly and becomes visible as a whole; until then, the destination is unchanged.
    /// `may` is called for every member of a directory; if it returns false, the copy fails with
    /// [`StorageError::Refused`] at the member's path.
    ///
    /// A symbolic link is copied as the file that it leads to; a link to a directory is refused. Links that
    /// the policy hides are left out.
    pub fn copy(
        self: &Arc<Self>,
        from: &DavPath,
        to: &DavPath,
        options: CopyOptions,
        may: &mut MayCopy<'_>,
        cancelled: &AtomicBool,
    ) -> Result<Transferred, Failure> {
        self.copy_through(from, to, options, may, cancelled, &mut |step| step())
    }

    /// Copies like [`Self::copy`], with a gate before the visible step.
    pub fn copy_through(
        self: &Arc<Self>,
        from: &DavPath,
        to: &DavPath,
        options: CopyOptions,
        may: &mut MayCopy<'_>,
        cancelled: &AtomicBool,
        gate: &mut Gate<'_>,
    ) -> Result<Transferred, Failure> {
        let copy = self.make_copy(from, to, options, may, cancelled, Purpose::Copy)?;
        self.put_in_place(copy, options.durability, gate)
    }

    /// Makes a complete copy that is not visible yet.
    pub(crate) fn make_copy<'p>(
        self: &Arc<Self>,
        from: &DavPath,
        to: &'p DavPath,
        options: CopyOptions,
        may: &mut MayCopy<'_>,
        cancelled: &AtomicBool,
        purpose: Purpose,
    ) -> Result<Copy<'p>, Failure> {
        let at_source = |error: StorageError| Failure { path: from.clone(), error };
        let at_destination = |error: StorageError| Failure { path: to.clone(), error };
        if from.starts_with(to) || to.starts_with(from) && options.deep {
            return Err(at_destination(StorageError::Refused));
        }
        let source = self.metadata(from).map_err(at_source)?;
        let (home, name) = self.resolve_parent(to).map_err(at_destination)?;
        let there = Self::look(&home, name).map_err(at_destination)?;
        if there.is_some() && !options.overwrite {
            return Err(at_destination(StorageError::Exists));
        }
        if there.as_ref().is_some_and(Found::is_directory) {
            Self::require_no_mount(&home, name)
                .map_err(|(below, error)| Failure { path: to.append(&below), error })?;
        }
        let parent = to.parent().unwrap_or_default();
        let own_home = own(&home).map_err(at_destination)?;
        let mut seen = Fingerprint::new();
        let old_bytes = there.as_ref().and_then(Found::file_bytes).unwrap_or(0);
        let claim = match purpose {
            Purpose::Copy => Some(self.claim(0).map_err(at_destination)?),
            Purpose::Move => None,
        };
        let mut room = Room { claim, tally: Tally::default(), old_bytes };
        let made = match source.kind {
            FileKind::File => {
                let source = self.open(from).map_err(at_source)?;
                let permissions = Permissions::of(&source).map_err(at_source)?;
                let mode = purpose.creation_mode(&permissions);
                let file = Temporary::file(self, own_home, &parent, mode, None).map_err(at_destination)?;
                let target = Target { fd: file.fd().map_err(at_destination)?, home: &home, name };
                let copying = Copying { purpose, durability: options.durability, cancelled };
                self.copy_file(from, &source, &target, &copying, &mut room).map_err(at_source)?;
                file
            }
            FileKind::Directory => {
                let home = Found::of(&home).map_err(at_destination)?;
                let permissions =
                    self.resolve_directory(from).and_then(Permissions::of).map_err(at_source)?;
                let mode = purpose.creation_mode(&permissions);
                let directory =
                    Temporary::directory(self, own_home, &parent, mode).map_err(at_destination)?;
                let (seen, room) = (&mut seen, &mut room);
                let copying = Copying { purpose, durability: options.durability, cancelled };
                let mut run =
                    Run { tree: self, top: from, home, deep: options.deep, may, copying, seen, room };
                run.directory(from, directory.fd().map_err(at_destination)?, 0)?;
                directory
            }
        };
        Ok(Copy { made, to, home, name, there, directory: source.is_directory(), seen, room })
    }

    /// Gives a complete copy its name, through a gate. The old entry with that name is replaced in the same
    /// step. If the file system cannot do that with a directory, the old entry is displaced just before, and
    /// restored if the step fails.
    pub(crate) fn put_in_place(
        &self,
        copy: Copy<'_>,
        durability: Durability,
        gate: &mut Gate<'_>,
    ) -> Result<Transferred, Failure> {
        let Copy { mut made, to, home, name, there, directory, mut room, .. } = copy;
        let failed = |error: StorageError| Failure { path: to.clone(), error };
        let mut replaced = None;
        let turn = self.turn_at(&home, name).map_err(failed)?;
        let displaced = pass(gate, || {
            self.require_home(to, &home)?;
            // The old entry may have been removed or replaced since the copying began.
            let now = Self::look(&home, name)?;
            room.replace(now.as_ref().and_then(Found::file_bytes))?;
            replaced = now.map(|now| self.tally_of_file(&home, name, &now));
            self.place(&mut made, to, &home, name, there.as_ref().map(Found::is_directory), directory)
        });
        drop(turn);
        match displaced.map_err(failed)? {
            Some(displaced) => displaced.discard(),
            None => {
                if let Some(replaced) = replaced {
                    self.ledger().gone(replaced);
                }
            }
        }
        room.claim = None;
        self.ledger().came(room.tally);
        // After an exchange, this removes the old entry. What cannot be removed stays hidden until the next
        // start.
        self.ledger().gone(made.tally(self));
        let _ = made.remove();
        if let Some(there) = &there {
            notes::forget(&home, name, there.inode());
        }
        durability.sync_directory(&home).map_err(failed)?;
        Ok(Transferred { created: there.is_none() })
    }

    /// Runs the visible step. `there`: whether the old entry is a directory. Returns the displaced entry,
    /// which is still to be removed.
    fn place<'s>(
        &'s self,
        made: &mut Temporary,
        to: &DavPath,
        home: &'s OwnedFd,
        name: &'s [u8],
        there: Option<bool>,
        directory: bool,
    ) -> Result<Option<Displaced<'s>>, StorageError> {
        let Some(there) = there else { return made.place(name, Replace::Never).map(|()| None) };
        if !there && !directory {
            return made.place(name, Replace::Always).map(|()| None);
        }
        if made.swap(name, there)? {
            return Ok(None);
        }
        let successor = Found::of(made.fd()?)?;
        match Displaced::take(self, home, &to.parent().unwrap_or_default(), name, Some(&successor)) {
            Ok(displaced) => match made.place(name, Replace::Never) {
                Ok(()) => Ok(Some(displaced)),
                Err(error) => {
                    displaced.restore()?;
                    Err(error)
                }
            },
            // The old entry was removed meanwhile.
            Err(StorageError::NotFound) => made.place(name, Replace::Never).map(|()| None),
            Err(error) => Err(error),
        }
    }

    fn copy_file(
        self: &Arc<Self>,
        from: &DavPath,
        source: &OpenFile,
        to: &Target<'_>,
        copying: &Copying<'_>,
        room: &mut Room,
    ) -> Result<(), StorageError> {
        room.take(self, Tally::new(source.metadata().size))?;
        let known = || self.checksums(from, source);
        let digests = copy_with_checksums(source, to.fd, known, copying.cancelled)?;
        copying.purpose.give_time(source.metadata(), to.fd);
        let content = Found::of(to.fd)?.metadata()?;
        let side = || Ok(Side::of_file(own(to.home)?, to.name, content.inode));
        let from_side = || self.side(from, source.metadata());
        if let Some(properties) = notes::read(source, Note::Properties, from_side)? {
            room.take(self, Tally::properties(properties.len() as u64))?;
            notes::write(to.fd, Note::Properties, &properties, side)?;
        }
        if !digests.is_empty() {
            checksums::store(to.fd, &content, &digests, side)?;
        }
        let permissions = Permissions::of(source)?;
        notes::give_way(to.fd, side, || copying.purpose.give_permissions(&permissions, to.fd))?;
        copying.durability.sync_file(to.fd)
    }
}

/// A complete copy that is not visible yet.
#[derive(Debug)]
pub(crate) struct Copy<'p> {
    made: Temporary,
    to: &'p DavPath,
    /// Directory that will contain it, and its name there.
    home: OwnedFd,
    name: &'p [u8],
    /// Old entry with the name.
    there: Option<Found>,
    directory: bool,
    seen: Fingerprint,
    room: Room,
}

/// Space that a copy uses.
#[derive(Debug)]
struct Room {
    /// Promise of space; `None` for a move, which adds nothing to the quota.
    claim: Option<Claim>,
    tally: Tally,
    /// Bytes of the file that the copy replaces.
    old_bytes: u64,
}

impl Room {
    /// Sets the size of the file that is replaced, and extends the promise if needed.
    fn replace(&mut self, bytes: Option<u64>) -> Result<(), StorageError> {
        self.old_bytes = bytes.unwrap_or(0);
        let wanted = self.tally.bytes.saturating_sub(self.old_bytes);
        self.claim.as_mut().map_or(Ok(()), |claim| claim.cover(wanted))
    }

    /// Adds to the space of the copy, and extends the promise.
    fn take(&mut self, tree: &Tree, more: Tally) -> Result<(), StorageError> {
        self.tally.join(more);
        if self.claim.is_some() && more.entries() > 0 {
            tree.ledger().require_entries(self.tally.entries())?;
        }
        let wanted = self.tally.bytes.saturating_sub(self.old_bytes);
        self.claim.as_mut().map_or(Ok(()), |claim| claim.cover(wanted))
    }
}

impl Copy<'_> {
    /// Returns the fingerprint of the copied members.
    pub(crate) fn seen(&self) -> &Fingerprint {
        &self.seen
    }
}

/// Settings for the copying of files.
#[derive(Clone, Copy)]
struct Copying<'a> {
    purpose: Purpose,
    durability: Durability,
    cancelled: &'a AtomicBool,
}

/// Target of a file's copy.
struct Target<'a> {
    fd: BorrowedFd<'a>,
    /// Directory that will contain it, and its name there.
    home: &'a OwnedFd,
    name: &'a [u8],
}

/// State of the copying of a directory.
struct Run<'a, 'm> {
    tree: &'a Arc<Tree>,
    /// Path of the source.
    top: &'a DavPath,
    /// Metadata of the directory that will contain the copy.
    home: Found,
    /// True to copy the content, too.
    deep: bool,
    may: &'a mut MayCopy<'m>,
    copying: Copying<'a>,
    seen: &'a mut Fingerprint,
    room: &'a mut Room,
}

impl Run<'_, '_> {
    fn directory(&mut self, from: &DavPath, to: BorrowedFd<'_>, depth: usize) -> Result<(), Failure> {
        let failed = |error: StorageError| Failure { path: from.clone(), error };
        if depth > DEPTH_MAX {
            return Err(failed(StorageError::NameTooLong));
        }
        self.room.take(self.tree, Tally::new_directory()).map_err(failed)?;
        self.properties(from, to).map_err(failed)?;
        let source = self.tree.metadata(from).map_err(failed)?;
        if self.deep && (source.device, source.inode) == (self.home.device(), self.home.inode()) {
            // Through a link or a mount, the destination is inside the source.
            return Err(failed(StorageError::Refused));
        }
        if self.deep {
            let mut listing = self.tree.list(from).map_err(failed)?;
            loop {
                let batch = listing.next_batch(256).map_err(failed)?;
                if batch.is_empty() {
                    break;
                }
                for entry in batch {
                    let path = from.join(&entry.name).map_err(|_| failed(StorageError::Refused))?;
                    let refused = !(self.may)(&path, entry.metadata.kind);
                    if refused || entry.link && entry.metadata.is_directory() {
                        return Err(Failure { path, error: StorageError::Refused });
                    }
                    if let Some(below) = path.strip_prefix(self.top) {
                        self.seen.add(&below, &entry.metadata);
                    }
                    self.member(&path, &entry.name, entry.metadata.kind, to, depth)?;
                }
            }
        }
        let Copying { purpose, durability, .. } = self.copying;
        purpose.give_time(&source, to);
        // Reads them again, because copying the content may have taken long.
        let permissions = self.permissions(from).map_err(failed)?;
        let side = || own(to).map(Side::of_directory);
        notes::give_way(to, side, || purpose.give_permissions(&permissions, to)).map_err(failed)?;
        durability.sync_directory(to).map_err(failed)
    }

    fn member(
        &mut self,
        path: &DavPath,
        name: &[u8],
        kind: FileKind,
        to: BorrowedFd<'_>,
        depth: usize,
    ) -> Result<(), Failure> {
        let failed = |error: StorageError| Failure { path: path.clone(), error };
        let create =
            |call| move |errno| Failure { path: path.clone(), error: StorageError::from_errno(call)(errno) };
        match kind {
            FileKind::Directory => {
                let permissions = self.permissions(path).map_err(failed)?;
                let mode = self.copying.purpose.creation_mode(&permissions);
                mkdirat(to, name, mode).map_err(create("mkdir"))?;
                let inner = open_directory(to, name).map_err(create("open"))?;
                self.directory(path, inner.as_fd(), depth + 1)
            }
            FileKind::File => {
                let source = self.tree.open(path).map_err(failed)?;
                let permissions = Permissions::of(&source).map_err(failed)?;
                let mode = self.copying.purpose.creation_mode(&permissions);
                let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
                let file = openat(to, name, flags, mode).map_err(create("open"))?;
                let home = own(to).map_err(failed)?;
                let target = Target { fd: file.as_fd(), home: &home, name };
                let copying = self.copying;
                self.tree.copy_file(path, &source, &target, &copying, self.room).map_err(failed)
            }
        }
    }

    fn permissions(&self, directory: &DavPath) -> Result<Permissions, StorageError> {
        self.tree.resolve_directory(directory).and_then(Permissions::of)
    }

    fn properties(&mut self, from: &DavPath, to: BorrowedFd<'_>) -> Result<(), StorageError> {
        let source = self.tree.resource(from)?;
        let from_side = || self.tree.side(from, &source.metadata);
        match notes::read(&source.fd, Note::Properties, from_side)? {
            Some(value) => {
                self.room.take(self.tree, Tally::properties(value.len() as u64))?;
                notes::write(to, Note::Properties, &value, || own(to).map(Side::of_directory))
            }
            None => Ok(()),
        }
    }
}

fn own(fd: impl AsFd) -> Result<OwnedFd, StorageError> {
    fd.as_fd().try_clone_to_owned().map_err(|_| StorageError::Cancelled)
}
