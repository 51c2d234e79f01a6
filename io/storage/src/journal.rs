//! Journal of the directories that have had temporary files, so that leftovers of a killed process are found
//! without a search of all directories.

use std::collections::HashSet;
use std::sync::{Mutex, PoisonError};

use rustix::fd::OwnedFd;
use rustix::fs::{FlockOperation, Mode, OFlags, flock, openat};
use weir_dav::path::DavPath;

use crate::acting::as_self;
use crate::notes::write_all;
use crate::{StorageError, Tree, TreeOptions};

/// Number of directories from which a search of all directories is cheaper than a list.
const DIRECTORIES_MAX: usize = 10_000;

/// Line that stands for all directories.
pub(crate) const EVERYWHERE: &str = "*";

/// Journal of this start of the process. It is created with the first temporary file.
#[derive(Debug, Default)]
pub(crate) struct Journal(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    /// Open and locked while this tree is in use, as are those of the process's other trees at this root. The
    /// lock tells other processes that this one lives. Opened for reading, so that an idle file system can be
    /// remounted read-only.
    file: Option<OwnedFd>,
    known: HashSet<DavPath>,
}

impl Tree {
    /// Records that the directory at this path is about to get a temporary file. A journal that cannot be
    /// written is no reason to refuse the file.
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
        // Appends, because other trees of this process may use the same root, for example after a reload.
        let file = open(OFlags::WRONLY | OFlags::CREATE | OFlags::APPEND)?;
        if state.file.is_none() {
            let held = open(OFlags::RDONLY)?;
            let _ = flock(&held, FlockOperation::NonBlockingLockShared);
            write_all(&file, format!("{}\n", machine_boot()).as_bytes(), 0)?;
            state.file = Some(held);
        }
        let full = state.known.len() == DIRECTORIES_MAX;
        // Begins with a line feed, because a full disk may have cut off the previous line.
        let line = if full { format!("\n{EVERYWHERE}\n") } else { format!("\n{}\n", directory.href(true)) };
        write_all(&file, line.as_bytes(), 0)
    }
}

/// Returns the name of the journal's file.
fn name(options: &TreeOptions) -> String {
    format!("{}{:016x}", prefix(options), options.boot)
}

/// Returns the prefix of the names of all journals of this node.
pub(crate) fn prefix(options: &TreeOptions) -> String {
    format!("journal~{}~", options.node)
}

/// Returns the boot id of the machine. What was written before this boot may have been lost in a power
/// failure.
pub(crate) fn machine_boot() -> String {
    std::fs::read_to_string("/proc/sys/kernel/random/boot_id")
        .map_or_else(|_| "unknown".to_owned(), |text| text.trim().to_owned())
}
