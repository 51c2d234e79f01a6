//! Helpers for the tests of this folder.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use weir_dav::digest::Algorithm;
use weir_dav::path::{DavPath, PathLimits};
use weir_storage::{
    Commit, Committed, Disk, Durability, Expectation, NodeId, StorageError, Swept, SymlinkPolicy, Tree,
    TreeOptions, Upload,
};
use weir_testkit::{PATIENCE, wait_until};

pub(crate) fn path(text: &str) -> DavPath {
    DavPath::parse(text.as_bytes(), &PathLimits::default()).unwrap().path
}

pub(crate) fn options(node: &str, boot: u64) -> TreeOptions {
    TreeOptions::new(NodeId::new(node).unwrap(), boot)
}

pub(crate) fn tree(root: &Path) -> Arc<Tree> {
    Tree::open_root(root, options("one", 1)).unwrap()
}

pub(crate) fn tree_with(root: &Path, symlinks: SymlinkPolicy) -> Arc<Tree> {
    Tree::open_root(root, TreeOptions { symlinks, ..options("one", 1) }).unwrap()
}

pub(crate) fn disk() -> Disk {
    Disk::new("test", 2, 16)
}

/// Flag for cancellation; never set.
pub(crate) static GO_ON: AtomicBool = AtomicBool::new(false);

pub(crate) const COMMIT: Commit<'static> =
    Commit { durability: Durability::None, expect: Expectation::Anything, digests: &[], length: None };

pub(crate) fn put(tree: &Arc<Tree>, at: &str, content: &[u8]) -> Result<Committed, StorageError> {
    let mut upload = Upload::begin(tree, &disk(), &path(at), &[Algorithm::Adler32], None)?;
    upload.write(content)?;
    upload.commit(COMMIT)
}

pub(crate) fn get(tree: &Tree, at: &str) -> Result<Vec<u8>, StorageError> {
    let file = tree.open(&path(at))?;
    let mut content = vec![0; usize::try_from(file.metadata().size).unwrap()];
    let read = file.read(0, &mut content)?;
    content.truncate(read);
    Ok(content)
}

/// Waits until a pool has run its earlier jobs. With one thread, jobs run in order.
pub(crate) fn settle(disk: &Disk) {
    block_on(disk.run(|| Ok(()))).unwrap();
}

/// Sweeps until the results add up to `wanted`. This may take several tries: a process that another test
/// starts holds all open files of this process until its exec, including locks that were released here.
#[track_caller]
pub(crate) fn sweep_to(tree: &Arc<Tree>, wanted: Swept) {
    let mut removed = 0;
    wait_until(&format!("{wanted:?}"), PATIENCE, || {
        let swept = tree.sweep().unwrap();
        removed += swept.removed;
        Swept { removed, ..swept } == wanted
    });
}

pub(crate) fn block_on<F: Future>(future: F) -> F::Output {
    tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(future)
}

/// Returns every name in a directory and below it, including reserved ones.
pub(crate) fn raw_names(root: &Path) -> Vec<String> {
    let mut names = Vec::new();
    for entry in std::fs::read_dir(root).unwrap() {
        let entry = entry.unwrap();
        names.push(entry.file_name().to_string_lossy().into_owned());
        if entry.file_type().unwrap().is_dir() {
            names.extend(raw_names(&entry.path()));
        }
    }
    names.sort();
    names
}

/// Returns the names of leftover temporary files.
pub(crate) fn temporaries(root: &Path) -> Vec<String> {
    raw_names(root).into_iter().filter(|name| name.starts_with(".weir-tmp~")).collect()
}
