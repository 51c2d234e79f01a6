//! Opening of files and directories by their paths.

use rustix::fd::OwnedFd;
use rustix::fs::{Mode, OFlags, ResolveFlags, openat2};
use rustix::io::Errno;
use weir_dav::path::DavPath;

use super::{SymlinkPolicy, Tree, owner_walk};
use crate::metadata::Found;
use crate::{StorageError, reserved};

/// Most repetitions of a lookup while directories are renamed.
const RACES_MAX: usize = 100;

/// Flags of every open: do not wait for a FIFO's other end, take no controlling terminal, close on exec.
const ALWAYS: OFlags = OFlags::CLOEXEC.union(OFlags::NOCTTY).union(OFlags::NONBLOCK);

impl Tree {
    /// Opens what is at a path.
    pub(crate) fn resolve(&self, path: &DavPath, flags: OFlags) -> Result<OwnedFd, StorageError> {
        reserved::check(path)?;
        let name = relative(path);
        let mut races = 0;
        loop {
            match openat2(&self.root, name, flags_of(flags), Mode::empty(), self.how()) {
                // While a directory is renamed, the kernel cannot prove that a `..` in a link stays within
                // the root.
                Err(Errno::AGAIN | Errno::INTR) if races < RACES_MAX => races += 1,
                Err(Errno::LOOP) if self.options.symlinks == SymlinkPolicy::OwnerMatch => {
                    return owner_walk::open(self.root(), name, flags_of(flags));
                }
                opened => return opened.map_err(StorageError::from_errno("openat2")),
            }
        }
    }

    /// Opens what is at a path, without waiting.
    pub(super) fn resolve_cached(&self, path: &DavPath, flags: OFlags) -> Result<OwnedFd, StorageError> {
        reserved::check(path)?;
        if !self.answers_at_once() {
            return Err(StorageError::WouldBlock);
        }
        // A file system that is mounted below the root may be on a network.
        let how = self.how() | ResolveFlags::CACHED | ResolveFlags::NO_XDEV;
        match openat2(&self.root, relative(path), flags_of(flags), Mode::empty(), how) {
            Err(Errno::AGAIN | Errno::INTR | Errno::XDEV | Errno::INVAL) => Err(StorageError::WouldBlock),
            Err(Errno::LOOP) if self.options.symlinks == SymlinkPolicy::OwnerMatch => {
                Err(StorageError::WouldBlock)
            }
            opened => opened.map_err(StorageError::from_errno("openat2")),
        }
    }

    /// Opens what is at a path, without waiting, and refuses all links, whatever the policy is.
    pub(crate) fn resolve_plain(&self, path: &DavPath, flags: OFlags) -> Result<OwnedFd, StorageError> {
        let how = self.how() | ResolveFlags::NO_SYMLINKS | ResolveFlags::CACHED | ResolveFlags::NO_XDEV;
        openat2(&self.root, relative(path), flags_of(flags), Mode::empty(), how)
            .map_err(StorageError::from_errno("openat2"))
    }

    /// Opens a directory for reading its members.
    pub(crate) fn resolve_directory(&self, path: &DavPath) -> Result<OwnedFd, StorageError> {
        match self.resolve(path, OFlags::RDONLY | OFlags::DIRECTORY) {
            // The path itself is a file. Otherwise, a parent of it is a file.
            Err(StorageError::NotFound) if self.metadata(path).is_ok() => Err(StorageError::NotDirectory),
            opened => opened,
        }
    }

    /// Opens the directory that holds, or would hold, the entry at a path. Returns it with the entry's name.
    /// Calls that use both never follow a link of this name.
    pub(crate) fn resolve_parent<'p>(&self, path: &'p DavPath) -> Result<(OwnedFd, &'p [u8]), StorageError> {
        reserved::check(path)?;
        let (Some(parent), Some(name)) = (path.parent(), path.name()) else {
            // The root's own directory is outside the tree.
            return Err(StorageError::Refused);
        };
        let directory = self.resolve_directory(&parent).map_err(|error| match error {
            StorageError::NotDirectory => StorageError::ParentMissing,
            error => error.of_parent(),
        })?;
        Ok((directory, name))
    }

    /// Refuses if the parent directory of `path` is no longer `home`. The directory was moved since `home`
    /// was opened, so a new member would appear at another path than requested.
    pub(crate) fn require_home(&self, path: &DavPath, home: &OwnedFd) -> Result<(), StorageError> {
        let (now, _) = self.resolve_parent(path)?;
        match Found::of(&now)?.is_same_as(&Found::of(home)?) {
            true => Ok(()),
            false => Err(StorageError::ParentMissing),
        }
    }

    /// Returns whether a path's last name is a symbolic link, even one to nowhere. Blocks.
    ///
    /// # Errors
    /// If its directory cannot be opened.
    pub fn is_link(&self, path: &DavPath) -> Result<bool, StorageError> {
        let (home, name) = self.resolve_parent(path)?;
        Ok(Self::look(&home, name)?.is_some_and(|found| found.is_link()))
    }

    /// Looks at a member of a directory without following links; `None` if there is no such member.
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

/// Adds the flags of every open, except with O_PATH: openat2 refuses flags that O_PATH would ignore.
fn flags_of(flags: OFlags) -> OFlags {
    if flags.contains(OFlags::PATH) { flags | OFlags::CLOEXEC } else { flags | ALWAYS }
}
