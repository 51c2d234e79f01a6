//! Files and directories that are not complete, or on their way out: under a reserved name beside where they belong.

use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::fs::{AtFlags, FlockOperation, Mode, OFlags, flock, mkdirat, openat, unlinkat};
use rustix::io::Errno;
use weir_dav::path::DavPath;

use crate::ledger::Tally;
use crate::remove::{open_up, remove_tree};
use crate::rename::{Replace, exchange, rename};
use crate::{Disk, StorageError, Tree};

/// Something under a reserved name; removed when it is dropped, unless it was placed. Its lock (flock) tells other processes
/// that somebody is at work on it.
#[derive(Debug)]
pub(crate) struct Temporary {
    /// `None` once it is placed.
    parts: Option<Parts>,
    /// Where it is removed when it is dropped; without one, where it is dropped.
    disk: Option<Disk>,
}

#[derive(Debug)]
struct Parts {
    /// The directory that it is in.
    home: OwnedFd,
    name: String,
    /// The file or directory itself.
    fd: OwnedFd,
    directory: bool,
    /// It stays when it is dropped.
    stays: bool,
}

const OPEN: OFlags = OFlags::CLOEXEC.union(OFlags::NOFOLLOW).union(OFlags::NONBLOCK);

impl Temporary {
    /// An empty file in `home`, which is the directory at `path`.
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

    /// An empty directory in `home`, which is the directory at `path`.
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

    /// Takes what has the name `old` in `home`, which is the directory at `path`, out of sight.
    pub(crate) fn displace(
        tree: &Tree,
        home: OwnedFd,
        path: &DavPath,
        old: &[u8],
        directory: bool,
    ) -> Result<Self, StorageError> {
        tree.journal(path);
        let (name, ()) = free_name(tree, |name| rename(&home, old, &home, name.as_bytes(), Replace::Never))?;
        // Opened only for its lock; O_PATH where reading it is not permitted.
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
        // Where there are no such locks, the name alone has to do.
        let _ = flock(&fd, FlockOperation::NonBlockingLockExclusive);
        Self { parts: Some(Parts { home, name, fd, directory, stays: false }), disk }
    }

    /// A file of this name that stays until it is placed or removed on purpose.
    pub(crate) fn adopt(home: OwnedFd, name: String, fd: OwnedFd) -> Self {
        Self { parts: Some(Parts { home, name, fd, directory: false, stays: true }), disk: None }
    }

    /// The file or directory.
    pub(crate) fn fd(&self) -> Result<BorrowedFd<'_>, StorageError> {
        self.parts.as_ref().map(|parts| parts.fd.as_fd()).ok_or(StorageError::Cancelled)
    }

    /// The directory that it is in.
    pub(crate) fn home(&self) -> Result<BorrowedFd<'_>, StorageError> {
        self.parts.as_ref().map(|parts| parts.home.as_fd()).ok_or(StorageError::Cancelled)
    }

    /// What it and everything below it take up, if it is a directory.
    pub(crate) fn tally(&self, tree: &Tree) -> Tally {
        let Some(parts) = &self.parts else { return Tally::default() };
        // Not by its descriptor, which is of what had the name before an exchange.
        tree.tally_at(&parts.home, parts.name.as_bytes())
    }

    /// Gives it a name in its directory; from then on it is there to stay.
    pub(crate) fn place(&mut self, name: &[u8], replace: Replace) -> Result<(), StorageError> {
        let parts = self.parts.as_ref().ok_or(StorageError::Cancelled)?;
        rename(&parts.home, parts.name.as_bytes(), &parts.home, name, replace)
            // That it is gone itself means that its directory is.
            .map_err(|errno| StorageError::from_errno("rename")(errno).of_parent())?;
        self.parts = None;
        Ok(())
    }

    /// Gives it the name of something else in its directory, which takes its own in the same step, to be removed with this.
    /// False if the file system cannot do that, or nothing has that name any more.
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
    /// The first member of a directory, as its path below it, that could not be removed. It is still there then, to be placed
    /// again.
    pub(crate) fn remove(&mut self) -> Result<(), (DavPath, StorageError)> {
        let Some(parts) = &self.parts else { return Ok(()) };
        parts.remove()?;
        self.parts = None;
        Ok(())
    }
}

impl Parts {
    /// The same where directories in it are such that not even their owner may change them: nobody has seen them.
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
        // What cannot be removed now is when the process starts the next time. Closing the file frees its blocks, which can
        // take long: that belongs to the disk's threads, too.
        let remove = move || drop(parts.remove().or_else(|_| parts.force()));
        match &self.disk {
            Some(disk) => disk.always(remove),
            None => remove(),
        }
    }
}

/// Makes something under a temporary name that nobody has.
fn free_name<T>(
    tree: &Tree,
    mut make: impl FnMut(&str) -> Result<T, Errno>,
) -> Result<(String, T), StorageError> {
    loop {
        let name = tree.temporary_name();
        match make(&name) {
            // Numbers are not used twice; but another process may have been given our boot number.
            Err(Errno::EXIST) => {}
            Err(errno) => return Err(StorageError::from_errno("create")(errno)),
            Ok(made) => return Ok((name, made)),
        }
    }
}
