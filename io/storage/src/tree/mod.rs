//! A directory tree that nothing leads out of.

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

/// Which symbolic links are followed. None ever leads out of the root, and absolute ones are not followed at all: what they
/// mean depends on where the root is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SymlinkPolicy {
    /// None: they are not shown either.
    #[default]
    Never,
    /// Those that stay within the root.
    InsideRoot,
    /// Those that stay within the root and belong to the owner of what they point at.
    OwnerMatch,
}

/// How a tree is used.
#[derive(Debug, Clone)]
pub struct TreeOptions {
    /// Which symbolic links are followed.
    pub symlinks: SymlinkPolicy,
    /// This node among those that share the tree.
    pub node: NodeId,
    /// A random number of this start of the process.
    pub boot: u64,
    /// Permission bits of new files, before the process's umask.
    pub file_mode: u16,
    /// Permission bits of new directories, before the process's umask.
    pub directory_mode: u16,
    /// Believe the Adler-32 that another program (StoRM WebDAV) has stored, although nobody can tell whether the file was
    /// changed since.
    pub trust_foreign_checksums: bool,
    /// Jobs are done as local users: nothing is found or opened without one, and what a user has left is removed with no more
    /// than its owner's rights.
    pub as_users: bool,
}

impl TreeOptions {
    /// Without symbolic links, with the usual modes.
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

/// A directory tree: the root of a storage area. Paths are looked up by the kernel relative to the root's descriptor
/// (openat2 with RESOLVE_BENEATH), so no name, link or race leads out of it.
#[derive(Debug)]
pub struct Tree {
    root: OwnedFd,
    options: TreeOptions,
    /// The root's file system is on this machine: lookups in the kernel's caches say all.
    local: bool,
    /// The root's file system, if it is in memory.
    memory_device: Option<u64>,
    /// Which of this process's trees it is: there may be several of one directory.
    pub(crate) number: u64,
    /// Number of the next temporary file.
    next_temporary: AtomicU64,
    pub(crate) journal: Journal,
    /// What the files take up.
    pub(crate) ledger: Arc<Ledger>,
    /// Taken by those that change what is at a path.
    pub(crate) turns: Turns,
}

impl Tree {
    /// Opens the root. Symbolic links on the way to it are the operator's, and followed. Blocks.
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

    /// What is at a path. Blocks.
    pub fn metadata(&self, path: &DavPath) -> Result<Metadata, StorageError> {
        let fd = self.resolve(path, OFlags::PATH)?;
        Found::of(fd)?.metadata()
    }

    /// The same from the kernel's caches, without waiting: [`StorageError::WouldBlock`] if it is not all there, and always on
    /// network file systems.
    pub fn metadata_cached(&self, path: &DavPath) -> Result<Metadata, StorageError> {
        let fd = self.resolve_cached(path, OFlags::PATH)?;
        Found::of_cached(fd)?.metadata()
    }

    /// Opens a regular file for reading. Blocks, but not on a FIFO or device: those are refused.
    pub fn open(&self, path: &DavPath) -> Result<OpenFile, StorageError> {
        let fd = self.resolve(path, OFlags::RDONLY)?;
        let found = Found::of(&fd)?;
        self.opened(fd, &found)
    }

    /// The same if it can be done without waiting, else [`StorageError::WouldBlock`].
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

    /// Whether a path that a file was opened by still leads to it, and the file is as it was then, as far as that can be told
    /// without waiting.
    pub(crate) fn leads_to(&self, path: &DavPath, file: &OpenFile) -> bool {
        self.metadata_cached(path).is_ok_and(|now| now.is_same_state(file.metadata()))
    }

    /// Whether a file is as it was when it was opened, by whatever path. Does not wait.
    pub(crate) fn is_unchanged(file: &OpenFile) -> bool {
        let now = Found::of_cached(file).and_then(|found| found.metadata());
        now.is_ok_and(|now| now.is_same_state(file.metadata()))
    }

    /// Whether no symbolic link is ever on the way to what a path leads to.
    pub(crate) fn follows_no_links(&self) -> bool {
        // Where owners must match, what a link leads to is never opened without waiting.
        self.options.symlinks != SymlinkPolicy::InsideRoot
    }

    /// Whether the kernel can be asked about its files without waiting, and answers for all clients alike.
    pub(crate) fn answers_at_once(&self) -> bool {
        self.local && !self.options.as_users
    }

    /// Begins to list a directory. Blocks.
    pub fn list(self: &Arc<Self>, path: &DavPath) -> Result<Listing, StorageError> {
        let fd = self.resolve_directory(path)?;
        let directory = Dir::new(fd).map_err(StorageError::from_errno("open"))?;
        Ok(Listing::new(Arc::clone(self), path.clone(), directory))
    }

    /// What new files are made with.
    pub(crate) fn file_mode(&self) -> Mode {
        Mode::from_raw_mode(self.options.file_mode.into())
    }

    /// How it is used.
    pub fn options(&self) -> &TreeOptions {
        &self.options
    }

    /// A name for a temporary file, used once.
    pub(crate) fn temporary_name(&self) -> String {
        self.reserved_name(reserved::TEMPORARY)
    }

    /// A name for the directory of something that is out of sight for a moment, used once.
    pub(crate) fn displaced_name(&self) -> String {
        self.reserved_name(reserved::DISPLACED)
    }

    /// What nothing else has ever been called, here or on another node.
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

    /// Whether the root is on a file system of this machine.
    pub fn is_local(&self) -> bool {
        self.local
    }
}
