//! Fuzzes the side files of a storage area: locks, properties, checksums, journals, counts and upload states.
//! Any user who can write to the directory may have written them. No content may cause a panic, a hang, or
//! access outside the tree.

use std::cell::RefCell;
use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use rustix::fs::{XattrFlags, setxattr};
use weir_dav::path::{DavPath, PathLimits};
use weir_storage::{Durability, LockStore, NodeId, Partial, PartialId, PartialState, Tree, TreeOptions};

const ID: &str = "0123456789abcdef0123456789abcdef";

struct Place {
    _directory: tempfile::TempDir,
    root: PathBuf,
    store: PathBuf,
}

thread_local! {
    static PLACE: RefCell<Option<Place>> = const { RefCell::new(None) };
}

fn place() -> Place {
    let directory = tempfile::tempdir().expect("temporary directory");
    let root = directory.path().join("root");
    let store = root.join(".weir-store");
    fs::create_dir_all(store.join("uploads")).expect("directories");
    fs::write(directory.path().join("outside"), "untouched").expect("file");
    fs::write(root.join("file"), "content").expect("file");
    fs::create_dir(root.join("directory")).expect("directory");
    Place { _directory: directory, root, store }
}

fn path(text: &str) -> DavPath {
    DavPath::parse(text.as_bytes(), &PathLimits::default()).expect("a path").path
}

/// Runs the target on one input; panics if a property does not hold.
pub fn run(data: &[u8]) {
    let Some((&which, bytes)) = data.split_first() else { return };
    PLACE.with(|slot| {
        let mut slot = slot.borrow_mut();
        let Place { root, store, .. } = slot.get_or_insert_with(place);
        let node = NodeId::new("fuzz").expect("a name");
        let tree = Tree::open_root(root, TreeOptions::new(node, 2)).expect("the root");
        match which % 7 {
            0 => {
                for name in ["locks.log", "locks.json"] {
                    fs::write(store.join(name), bytes).expect("write");
                    let locks = LockStore::new(Arc::clone(&tree));
                    let _ = locks.view().map(|table| table.locks_on(&path("/file"), 1).count());
                    let _ = fs::remove_file(store.join(name));
                }
            }
            1 => {
                let file = root.join("file");
                let _ = setxattr(&file, "user.weir.properties", bytes, XattrFlags::empty());
                let _ = tree.properties(&path("/file"));
                let _ = rustix::fs::removexattr(&file, "user.weir.properties");
            }
            2 => {
                let file = root.join("file");
                let _ = setxattr(&file, "user.weir.checksums", bytes, XattrFlags::empty());
                let _ = tree.open(&path("/file")).map(|open| tree.checksums(&path("/file"), &open));
                let _ = rustix::fs::removexattr(&file, "user.weir.checksums");
            }
            3 => {
                fs::write(store.join("journal~fuzz~0000000000000001"), bytes).expect("write");
                let _ = tree.sweep();
            }
            4 => {
                fs::write(store.join("usage.json"), bytes).expect("write");
                let _ = tree.recall_count();
                let account = tree.ledger().account();
                assert!(account.used.is_some() == account.counted_s.is_some());
            }
            5 => {
                fs::write(store.join("uploads").join(ID), bytes).expect("write");
                let id = PartialId::parse(ID.as_bytes()).expect("an id");
                let _ = Partial::open(&tree, id, Durability::None);
                let _ = tree.sweep_partials(u64::MAX);
                let _ = fs::remove_file(store.join("uploads").join(ID));
            }
            _ => {
                let side = root.join("directory/.weir-notes");
                let _ = fs::create_dir(&side);
                fs::write(side.join("self.properties"), bytes).expect("write");
                let _ = tree.properties(&path("/directory"));
            }
        }
        if let Ok(state) = PartialState::parse(bytes) {
            // The target of an upload is below the root and not one of Weir's own files.
            let goes = state.path().expect("it was read");
            assert!(goes.segments().all(|name| name != b".." && !name.starts_with(b".weir-")));
        }
        // Existing files are unchanged, inside and outside the tree.
        assert_eq!(fs::read(root.join("file")).expect("the file"), b"content");
        assert_eq!(fs::read(root.join("../outside")).expect("the file"), b"untouched");
    });
}
