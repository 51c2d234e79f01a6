//! Files and directories that are incomplete or being removed, under a reserved name in their directory.

use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::fs::{AtFlags, FlockOperation, Mode, OFlags, flock, mkdirat, openat, unlinkat};
use rustix::io::Errno;
use weir_dav::path::DavPath;

use crate::ledger::Tally;
use crate::rename::{Replace, exchange, rename};
use crate::tree_walk::{open_up, remove_tree};
use crate::{Disk, StorageError, Tree};

/// A file or directory under a reserved name. It is removed when this is dropped, unless it was placed. Its
/// lock (flock) tells other processes that it is in use.
#[derive(Debug)]
pub(crate) struct Temporary {
    /// The file; `None` once it is placed.
    parts: Option<Parts>,
    /// Pool that removes it when this is dropped; `None` = the dropping thread does.
    disk: Option<Disk>,
}

#[derive(Debug)]
struct Parts {
    /// Directory that contains it.
    home: OwnedFd,
    name: String,
    /// Descriptor of the file or directory.
    fd: OwnedFd,
    directory: bool,
    /// Set when dropping this must not remove it.
    stays: bool,
}

const OPEN: OFlags = OFlags::CLOEXEC.union(OFlags::NOFOLLOW).union(OFlags::NONBLOCK);

impl Temporary {
    /// Creates an empty file in `home`, which is the directory at `path`.
    pub(crate) fn file(
        tree: &Tree,
        home: OwnedFd,
        path: &DavPath,
        mode: Mode,
        disk: Option<Disk>,
    ) -> Result<Self, StorageError> {
        tree.journal(path);
        let flags = OPEN | OFlags::RDWR | OFlags::CREATE | OFlags::EXCL;
        let (name, fd) = free_name(tree, |name| openat(&home, name, flags, mode))?;
        Ok(Self::new(home, name, fd, false, disk))
    }

    /// Creates an empty directory in `home`, which is the directory at `path`.
    pub(crate) fn directory(
        tree: &Tree,
        home: OwnedFd,
        path: &DavPath,
        mode: Mode,
    ) -> Result<Self, StorageError> {
        tree.journal(path);
        let (name, ()) = free_name(tree, |name| mkdirat(&home, name, mode))?;
        let opened = openat(&home, &name, OPEN | OFlags::RDONLY | OFlags::DIRECTORY, Mode::empty());
        let fd = opened.map_err(StorageError::from_errno("open"))?;
        Ok(Self::new(home, name, fd, true, None))
    }

    /// Renames the entry `old` of `home`, which is the directory at `path`, to a reserved name.
    pub(crate) fn displace(
        tree: &Tree,
        home: OwnedFd,
        path: &DavPath,
        old: &[u8],
        directory: bool,
    ) -> Result<Self, StorageError> {
        tree.journal(path);
        let (name, ()) = free_name(tree, |name| rename(&home, old, &home, name.as_bytes(), Replace::Never))?;
        // The descriptor is needed only for its lock. O_PATH suffices if reading is not permitted.
        let flags = OPEN | if directory { OFlags::DIRECTORY } else { OFlags::empty() };
        let fd = openat(&home, &name, flags | OFlags::RDONLY, Mode::empty()).or_else(|_| {
            openat(&home, &name, OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC, Mode::empty())
        });
        match fd {
            Ok(fd) => Ok(Self::new(home, name, fd, directory, None)),
            Err(errno) => {
                let _ = rename(&home, name.as_bytes(), &home, old, Replace::Never);
                Err(StorageError::from_errno("open")(errno))
            }
        }
    }

    fn new(home: OwnedFd, name: String, fd: OwnedFd, directory: bool, disk: Option<Disk>) -> Self {
        // Without such locks, the reserved name must suffice.
        let _ = flock(&fd, FlockOperation::NonBlockingLockExclusive);
        Self { parts: Some(Parts { home, name, fd, directory, stays: false }), disk }
    }

    /// Wraps a file that stays until it is placed or removed explicitly.
    pub(crate) fn adopt(home: OwnedFd, name: String, fd: OwnedFd) -> Self {
        Self { parts: Some(Parts { home, name, fd, directory: false, stays: true }), disk: None }
    }

    /// Returns the descriptor of the file or directory.
    pub(crate) fn fd(&self) -> Result<BorrowedFd<'_>, StorageError> {
        self.parts.as_ref().map(|parts| parts.fd.as_fd()).ok_or(StorageError::Cancelled)
    }

    /// Returns the directory that contains it.
    pub(crate) fn home(&self) -> Result<BorrowedFd<'_>, StorageError> {
        self.parts.as_ref().map(|parts| parts.home.as_fd()).ok_or(StorageError::Cancelled)
    }

    /// Returns the space that a directory and everything below it use.
    pub(crate) fn tally(&self, tree: &Tree) -> Tally {
        let Some(parts) = &self.parts else { return Tally::default() };
        // Looks the name up again: after an exchange, the descriptor is that of another entry.
        tree.tally_at(&parts.home, parts.name.as_bytes())
    }

    /// Gives it a final name in its directory.
    pub(crate) fn place(&mut self, name: &[u8], replace: Replace) -> Result<(), StorageError> {
        let parts = self.parts.as_ref().ok_or(StorageError::Cancelled)?;
        rename(&parts.home, parts.name.as_bytes(), &parts.home, name, replace)
            // If the file itself is gone, so is its directory.
            .map_err(|errno| StorageError::from_errno("rename")(errno).of_parent())?;
        self.parts = None;
        Ok(())
    }

    /// Exchanges names with another entry of its directory, which is then removed with this. Returns false if
    /// the file system cannot do that or the other entry is gone.
    pub(crate) fn swap(&mut self, name: &[u8], directory: bool) -> Result<bool, StorageError> {
        let parts = self.parts.as_mut().ok_or(StorageError::Cancelled)?;
        match exchange(&parts.home, parts.name.as_bytes(), name) {
            Ok(()) => {
                parts.directory = directory;
                Ok(true)
            }
            Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP | Errno::NOENT) => Ok(false),
            Err(errno) => Err(StorageError::from_errno("rename")(errno)),
        }
    }

    /// Removes it now.
    ///
    /// # Errors
    /// The first member of a directory that could not be removed, as a path below it. The rest is still there
    /// and can be placed again.
    pub(crate) fn remove(&mut self) -> Result<(), (DavPath, StorageError)> {
        let Some(parts) = &self.parts else { return Ok(()) };
        parts.remove()?;
        self.parts = None;
        Ok(())
    }
}

impl Parts {
    /// Removes it even if directories in it deny changes to their owner, because they were never visible.
    fn force(&self) -> Result<(), (DavPath, StorageError)> {
        if self.directory {
            open_up(&self.home, self.name.as_bytes());
        }
        self.remove()
    }

    fn remove(&self) -> Result<(), (DavPath, StorageError)> {
        if self.directory {
            return remove_tree(&self.home, self.name.as_bytes());
        }
        unlinkat(&self.home, &self.name, AtFlags::empty())
            .map_err(|errno| (DavPath::root(), StorageError::from_errno("unlink")(errno)))
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        let Some(parts) = self.parts.take().filter(|parts| !parts.stays) else { return };
        // If removal fails, the next start of the process tries again. Closing the file frees its blocks,
        // which may take long, so the disk's threads do it.
        let remove = move || drop(parts.remove().or_else(|_| parts.force()));
        match &self.disk {
            Some(disk) => disk.always(remove),
            None => remove(),
        }
    }
}

/// Creates something under an unused temporary name.
fn free_name<T>(
    tree: &Tree,
    mut make: impl FnMut(&str) -> Result<T, Errno>,
) -> Result<(String, T), StorageError> {
    loop {
        let name = tree.temporary_name();
        match make(&name) {
            // This process uses each number once, but another process may have the same boot number.
            Err(Errno::EXIST) => {}
            Err(errno) => return Err(StorageError::from_errno("create")(errno)),
            Ok(made) => return Ok((name, made)),
        }
    }
}
