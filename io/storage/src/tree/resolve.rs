//! From a path to a descriptor.

use rustix::fd::OwnedFd;
use rustix::fs::{Mode, OFlags, ResolveFlags, openat2};
use rustix::io::Errno;
use weir_dav::path::DavPath;

use super::{SymlinkPolicy, Tree, owner_walk};
use crate::metadata::Found;
use crate::{StorageError, reserved};

/// How often a lookup is repeated when directories are renamed while it runs.
const RACES_MAX: usize = 100;

/// Never wait for the other end of a FIFO, never become a terminal's owner, nothing for child processes.
const ALWAYS: OFlags = OFlags::CLOEXEC.union(OFlags::NOCTTY).union(OFlags::NONBLOCK);

impl Tree {
    /// Opens what is at a path.
    pub(crate) fn resolve(&self, path: &DavPath, flags: OFlags) -> Result<OwnedFd, StorageError> {
        reserved::check(path)?;
        let name = relative(path);
        let mut races = 0;
        loop {
            match openat2(&self.root, name, flags_of(flags), Mode::empty(), self.how()) {
                // The kernel cannot prove that a `..` in a link stays within the root while somebody renames.
                Err(Errno::AGAIN | Errno::INTR) if races < RACES_MAX => races += 1,
                Err(Errno::LOOP) if self.options.symlinks == SymlinkPolicy::OwnerMatch => {
                    return owner_walk::open(self.root(), name, flags_of(flags));
                }
                opened => return opened.map_err(StorageError::from_errno("openat2")),
            }
        }
    }

    /// The same without waiting.
    pub(super) fn resolve_cached(&self, path: &DavPath, flags: OFlags) -> Result<OwnedFd, StorageError> {
        reserved::check(path)?;
        if !self.answers_at_once() {
            return Err(StorageError::WouldBlock);
        }
        // What is mounted below the root may be on a network.
        let how = self.how() | ResolveFlags::CACHED | ResolveFlags::NO_XDEV;
        match openat2(&self.root, relative(path), flags_of(flags), Mode::empty(), how) {
            Err(Errno::AGAIN | Errno::INTR | Errno::XDEV | Errno::INVAL) => Err(StorageError::WouldBlock),
            Err(Errno::LOOP) if self.options.symlinks == SymlinkPolicy::OwnerMatch => {
                Err(StorageError::WouldBlock)
            }
            opened => opened.map_err(StorageError::from_errno("openat2")),
        }
    }

    /// The same where no link is on the way, whatever may be followed otherwise.
    pub(crate) fn resolve_plain(&self, path: &DavPath, flags: OFlags) -> Result<OwnedFd, StorageError> {
        let how = self.how() | ResolveFlags::NO_SYMLINKS | ResolveFlags::CACHED | ResolveFlags::NO_XDEV;
        openat2(&self.root, relative(path), flags_of(flags), Mode::empty(), how)
            .map_err(StorageError::from_errno("openat2"))
    }

    /// Opens a directory for reading its members.
    pub(crate) fn resolve_directory(&self, path: &DavPath) -> Result<OwnedFd, StorageError> {
        match self.resolve(path, OFlags::RDONLY | OFlags::DIRECTORY) {
            // It may also be that something on the way is a file.
            Err(StorageError::NotFound) if self.metadata(path).is_ok() => Err(StorageError::NotDirectory),
            opened => opened,
        }
    }

    /// The directory that something is in, or would be, and its name there. What is done with both never follows a link
    /// that has this name.
    pub(crate) fn resolve_parent<'p>(&self, path: &'p DavPath) -> Result<(OwnedFd, &'p [u8]), StorageError> {
        reserved::check(path)?;
        let (Some(parent), Some(name)) = (path.parent(), path.name()) else {
            // The root is in no directory of ours.
            return Err(StorageError::Refused);
        };
        let directory = self.resolve_directory(&parent).map_err(|error| match error {
            StorageError::NotDirectory => StorageError::ParentMissing,
            error => error.of_parent(),
        })?;
        Ok((directory, name))
    }

    /// Refuses if the directory that something at `path` would be in is another one by now than `home`: it was moved since that
    /// was opened, and what is put into it would be where nobody has asked for it.
    pub(crate) fn require_home(&self, path: &DavPath, home: &OwnedFd) -> Result<(), StorageError> {
        let (now, _) = self.resolve_parent(path)?;
        match Found::of(&now)?.is_same_as(&Found::of(home)?) {
            true => Ok(()),
            false => Err(StorageError::ParentMissing),
        }
    }

    /// Whether a symbolic link has this name, wherever it leads, and be it nowhere. Blocks.
    ///
    /// # Errors
    /// Its directory cannot be opened.
    pub fn is_link(&self, path: &DavPath) -> Result<bool, StorageError> {
        let (home, name) = self.resolve_parent(path)?;
        Ok(Self::look(&home, name)?.is_some_and(|found| found.is_link()))
    }

    /// What has this name itself, also if it is a link; `None` if nothing has.
    pub(crate) fn look(directory: &OwnedFd, name: &[u8]) -> Result<Option<Found>, StorageError> {
        match Found::in_directory(directory, name) {
            Ok(found) => Ok(Some(found)),
            Err(StorageError::NotFound) => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn how(&self) -> ResolveFlags {
        let how = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS;
        match self.options.symlinks {
            SymlinkPolicy::InsideRoot => how,
            SymlinkPolicy::Never | SymlinkPolicy::OwnerMatch => how | ResolveFlags::NO_SYMLINKS,
        }
    }
}

fn relative(path: &DavPath) -> &[u8] {
    if path.is_root() { b"." } else { path.relative_bytes() }
}

/// openat2 refuses flags that O_PATH would ignore.
fn flags_of(flags: OFlags) -> OFlags {
    if flags.contains(OFlags::PATH) { flags | OFlags::CLOEXEC } else { flags | ALWAYS }
}
