use std::sync::Arc;

use crate::{Disk, OpenFile, Tree};

/// Keeps a file open, and closes it where that may take its time: closing the last descriptor of a removed file frees its
/// blocks, which takes seconds for a large one, and a network file system may ask its server.
///
/// Who holds the file besides lets go of it first, or closes it as carefully.
#[derive(Debug)]
pub struct Closing {
    /// Until it is dropped.
    file: Option<Arc<OpenFile>>,
    tree: Arc<Tree>,
    disk: Disk,
}

impl Closing {
    /// Of a file of this tree, by the threads of this disk.
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

/// Lets go of a file. Whoever has the last hold of it closes it.
pub(crate) fn close(file: Arc<OpenFile>, tree: &Tree, disk: &Disk) {
    let Some(file) = Arc::into_inner(file) else { return };
    // Nearly always it is closed in no time, and waking a thread for it would cost more.
    if !tree.is_local() || file.is_removed() {
        disk.always(move || drop(file));
    }
}
