//! A directory tree that no path, link or race can leave.

mod local;
mod owner_walk;
mod resolve;

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::fs::{CWD, Dir, Mode, OFlags, openat};
use weir_dav::path::DavPath;

use self::local::Location;
use crate::journal::Journal;
use crate::metadata::Found;
use crate::turn::Turns;
use crate::{Ledger, Listing, Metadata, NodeId, OpenFile, StorageError, reserved};

/// Symbolic links that are followed. None ever leads out of the root. Absolute links are never followed,
/// because their meaning depends on the location of the root.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SymlinkPolicy {
    /// No links; they are not shown either.
    #[default]
    Never,
    /// Links that stay within the root.
    InsideRoot,
    /// Links that stay within the root and belong to the owner of their target.
    OwnerMatch,
}

/// Options of a tree.
#[derive(Debug, Clone)]
pub struct TreeOptions {
    /// Symbolic links that are followed.
    pub symlinks: SymlinkPolicy,
    /// Name of this node among the nodes that share the tree.
    pub node: NodeId,
    /// Random number of this start of the process.
    pub boot: u64,
    /// Permission bits of new files, before the process's umask.
    pub file_mode: u16,
    /// Permission bits of new directories, before the process's umask.
    pub directory_mode: u16,
    /// True to trust an Adler-32 that another program (StoRM WebDAV) has stored, although a later change of
    /// the file would go unnoticed.
    pub trust_foreign_checksums: bool,
    /// True if jobs run as local users. Files are found and opened in jobs only, and leftovers of a user are
    /// removed with the owner's rights.
    pub as_users: bool,
}

impl TreeOptions {
    /// Returns options with the usual modes and no symbolic links.
    pub const fn new(node: NodeId, boot: u64) -> Self {
        Self {
            symlinks: SymlinkPolicy::Never,
            node,
            boot,
            file_mode: 0o644,
            directory_mode: 0o755,
            trust_foreign_checksums: false,
            as_users: false,
        }
    }
}

/// A directory tree: the root of a storage area. The kernel looks up paths relative to the root's descriptor
/// (openat2 with RESOLVE_BENEATH), so no name, link or race leads out of it.
#[derive(Debug)]
pub struct Tree {
    root: OwnedFd,
    options: TreeOptions,
    /// True if the root's file system is on this machine, so that the kernel's caches are always current.
    local: bool,
    /// Number of the root's file system, if that is in memory.
    memory_device: Option<u64>,
    /// Number of this tree in the process: several trees may have the same root.
    pub(crate) number: u64,
    /// Number of the next temporary file.
    next_temporary: AtomicU64,
    pub(crate) journal: Journal,
    /// Account of the space that the files use.
    pub(crate) ledger: Arc<Ledger>,
    /// Locks that serialize changes of the same name.
    pub(crate) turns: Turns,
}

impl Tree {
    /// Opens the root. Follows symbolic links on the way to it, because the operator has set them. Blocks.
    pub fn open_root(root: &Path, options: TreeOptions) -> Result<Arc<Self>, StorageError> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let root = openat(CWD, root, flags, Mode::empty()).map_err(StorageError::from_errno("open"))?;
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let location = Location::of(&root);
        let memory_device = match location {
            Location::Memory => Some(Found::of(&root)?.device()),
            Location::Here | Location::Elsewhere => None,
        };
        Ok(Arc::new(Self {
            root,
            options,
            local: location != Location::Elsewhere,
            memory_device,
            number: NEXT.fetch_add(1, Ordering::Relaxed),
            next_temporary: AtomicU64::new(0),
            journal: Journal::default(),
            ledger: Arc::default(),
            turns: Turns::default(),
        }))
    }

    /// Returns the metadata of what is at a path. Blocks.
    pub fn metadata(&self, path: &DavPath) -> Result<Metadata, StorageError> {
        let fd = self.resolve(path, OFlags::PATH)?;
        Found::of(fd)?.metadata()
    }

    /// Returns the same as [`Self::metadata`] from the kernel's caches, without waiting. Fails with
    /// [`StorageError::WouldBlock`] if not all of it is cached, and always on network file systems.
    pub fn metadata_cached(&self, path: &DavPath) -> Result<Metadata, StorageError> {
        let fd = self.resolve_cached(path, OFlags::PATH)?;
        Found::of_cached(fd)?.metadata()
    }

    /// Opens a regular file for reading. Refuses FIFOs and devices. Blocks, but never on a FIFO.
    pub fn open(&self, path: &DavPath) -> Result<OpenFile, StorageError> {
        let fd = self.resolve(path, OFlags::RDONLY)?;
        let found = Found::of(&fd)?;
        self.opened(fd, &found)
    }

    /// Opens a file like [`Self::open`], without waiting. Fails with [`StorageError::WouldBlock`] if that is
    /// not possible.
    pub fn open_cached(&self, path: &DavPath) -> Result<OpenFile, StorageError> {
        let fd = self.resolve_cached(path, OFlags::RDONLY)?;
        let found = Found::of_cached(&fd)?;
        self.opened(fd, &found)
    }

    fn opened(&self, fd: OwnedFd, found: &Found) -> Result<OpenFile, StorageError> {
        let mut file = OpenFile::new(fd, found)?;
        file.is_in_memory = self.memory_device == Some(found.device());
        Ok(file)
    }

    /// Returns whether a path still leads to an open file and the file is unchanged since it was opened, as
    /// far as the caches show. Does not wait.
    pub(crate) fn leads_to(&self, path: &DavPath, file: &OpenFile) -> bool {
        self.metadata_cached(path).is_ok_and(|now| now.is_same_state(file.metadata()))
    }

    /// Returns whether an open file is unchanged since it was opened. Does not look at its path, and does not
    /// wait.
    pub(crate) fn is_unchanged(file: &OpenFile) -> bool {
        let now = Found::of_cached(file).and_then(|found| found.metadata());
        now.is_ok_and(|now| now.is_same_state(file.metadata()))
    }

    /// Returns whether no symbolic link can be on the way to a file that was opened without waiting.
    pub(crate) fn follows_no_links(&self) -> bool {
        // With `OwnerMatch`, a path with a link is never opened without waiting.
        self.options.symlinks != SymlinkPolicy::InsideRoot
    }

    /// Returns whether the kernel can answer from its caches and its answers are the same for all clients.
    pub(crate) fn answers_at_once(&self) -> bool {
        self.local && !self.options.as_users
    }

    /// Begins to list a directory. Blocks.
    pub fn list(self: &Arc<Self>, path: &DavPath) -> Result<Listing, StorageError> {
        let fd = self.resolve_directory(path)?;
        let directory = Dir::new(fd).map_err(StorageError::from_errno("open"))?;
        Ok(Listing::new(Arc::clone(self), path.clone(), directory))
    }

    /// Returns the permission bits of new files.
    pub(crate) fn file_mode(&self) -> Mode {
        Mode::from_raw_mode(self.options.file_mode.into())
    }

    /// Returns the options.
    pub fn options(&self) -> &TreeOptions {
        &self.options
    }

    /// Returns a new name for a temporary file.
    pub(crate) fn temporary_name(&self) -> String {
        self.reserved_name(reserved::TEMPORARY)
    }

    /// Returns a new name for the directory of a displaced file.
    pub(crate) fn displaced_name(&self) -> String {
        self.reserved_name(reserved::DISPLACED)
    }

    /// Returns a text that is unique on all nodes.
    pub(crate) fn new_identity(&self) -> String {
        self.reserved_name(&format!("{}~", self.number))
    }

    fn reserved_name(&self, prefix: &str) -> String {
        let TreeOptions { node, boot, .. } = &self.options;
        let number = self.next_temporary.fetch_add(1, Ordering::Relaxed);
        format!("{prefix}{node}~{boot:016x}~{number}")
    }

    pub(crate) fn root(&self) -> BorrowedFd<'_> {
        self.root.as_fd()
    }

    /// Returns whether the root is on a file system of this machine.
    pub fn is_local(&self) -> bool {
        self.local
    }
}
