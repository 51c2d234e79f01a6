//! Which directories have had temporary files: so that what a killed process left is found without looking everywhere.

use std::collections::HashSet;
use std::sync::{Mutex, PoisonError};

use rustix::fd::OwnedFd;
use rustix::fs::{FlockOperation, Mode, OFlags, flock, openat};
use weir_dav::path::DavPath;

use crate::acting::as_self;
use crate::notes::write_all;
use crate::{StorageError, Tree, TreeOptions};

/// From so many directories on, a look everywhere is cheaper than a list.
const DIRECTORIES_MAX: usize = 10_000;

/// Stands for all directories.
pub(crate) const EVERYWHERE: &str = "*";

/// The journal of this start of the process. Made when the first temporary file is.
#[derive(Debug, Default)]
pub(crate) struct Journal(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    /// Held open and locked, together with those of the process's other trees at this root, as long as this tree is in use: other
    /// processes see by the lock that this one lives. Opened for reading, so that an idle file system can be remounted read-only.
    file: Option<OwnedFd>,
    known: HashSet<DavPath>,
}

impl Tree {
    /// Remembers that the directory at this path is about to have a temporary file. That a journal cannot be written is no
    /// reason to refuse the file.
    pub(crate) fn journal(&self, directory: &DavPath) {
        let mut state = self.journal.0.lock().unwrap_or_else(PoisonError::into_inner);
        if state.known.len() > DIRECTORIES_MAX || state.known.contains(directory) {
            return;
        }
        if as_self(|| self.append(&mut state, directory)).is_ok() {
            state.known.insert(directory.clone());
        }
    }

    fn append(&self, state: &mut State, directory: &DavPath) -> Result<(), StorageError> {
        let store = self.make_store()?;
        let name = name(self.options());
        let open = |flags: OFlags| {
            let flags = flags | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            let opened = openat(&store, &name, flags, Mode::RUSR | Mode::WUSR);
            opened.map_err(StorageError::from_errno("open"))
        };
        // Appended: other trees of this process may be at the same root, after a reload for example.
        let file = open(OFlags::WRONLY | OFlags::CREATE | OFlags::APPEND)?;
        if state.file.is_none() {
            let held = open(OFlags::RDONLY)?;
            let _ = flock(&held, FlockOperation::NonBlockingLockShared);
            write_all(&file, format!("{}\n", machine_boot()).as_bytes(), 0)?;
            state.file = Some(held);
        }
        let full = state.known.len() == DIRECTORIES_MAX;
        // On a line of its own, also if the disk was full in the middle of the last one.
        let line = if full { format!("\n{EVERYWHERE}\n") } else { format!("\n{}\n", directory.href(true)) };
        write_all(&file, line.as_bytes(), 0)
    }
}

/// The file's name.
fn name(options: &TreeOptions) -> String {
    format!("{}{:016x}", prefix(options), options.boot)
}

/// What the names of all journals of this node begin with.
pub(crate) fn prefix(options: &TreeOptions) -> String {
    format!("journal~{}~", options.node)
}

/// Which start of the machine this is: what was written before it may have been lost with the power.
pub(crate) fn machine_boot() -> String {
    std::fs::read_to_string("/proc/sys/kernel/random/boot_id")
        .map_or_else(|_| "unknown".to_owned(), |text| text.trim().to_owned())
}
