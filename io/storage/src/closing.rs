//! Closing of files that may take long.

use std::sync::Arc;

use crate::{Disk, OpenFile, Tree};

/// Holds a file open, and closes it on a thread that may wait. Closing the last descriptor of a removed file
/// frees its blocks, which takes seconds for a large one. A network file system may send a request to its
/// server.
///
/// All other holders of the file must drop it before, or close it in the same way.
#[derive(Debug)]
pub struct Closing {
    /// The file; `None` once it is dropped.
    file: Option<Arc<OpenFile>>,
    tree: Arc<Tree>,
    disk: Disk,
}

impl Closing {
    /// Holds a file of this tree; the threads of `disk` close it.
    pub fn new(file: Arc<OpenFile>, tree: Arc<Tree>, disk: Disk) -> Self {
        Self { file: Some(file), tree, disk }
    }
}

impl Drop for Closing {
    fn drop(&mut self) {
        if let Some(file) = self.file.take() {
            close(file, &self.tree, &self.disk);
        }
    }
}

/// Drops a reference to a file. The holder of the last one closes it.
pub(crate) fn close(file: Arc<OpenFile>, tree: &Tree, disk: &Disk) {
    let Some(file) = Arc::into_inner(file) else { return };
    // Closing is nearly always fast; waking a thread would cost more.
    if !tree.is_local() || file.is_removed() {
        disk.always(move || drop(file));
    }
}
