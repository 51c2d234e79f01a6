//! Tests of the cache of open files.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed};
use std::time::{Duration, Instant};

use rustix::fs::{CWD, RenameFlags, renameat_with};
use weir_storage::{OpenFile, OpenFiles, StorageError, SymlinkPolicy, Tree};
use weir_testkit::SetOnDrop;

use crate::support::{disk, path, put, tree, tree_with};

const KEPT_FOR: Duration = Duration::from_secs(3600);

type Files = OpenFiles<AtomicU32>;

fn open_files(tree: &Arc<Tree>, files_max: usize) -> Files {
    OpenFiles::new(tree, &disk(), files_max, KEPT_FOR)
}

fn content(file: &OpenFile) -> String {
    let mut bytes = vec![0; usize::try_from(file.metadata().size).unwrap()];
    let read = file.read(0, &mut bytes).unwrap();
    bytes.truncate(read);
    String::from_utf8(bytes).unwrap()
}

/// Opens a file as a server does: without waiting if possible, otherwise in the blocking way.
fn open(files: &Files, tree: &Tree, at: &str) -> Result<Arc<OpenFile>, StorageError> {
    match files.open(&path(at)) {
        Err(StorageError::WouldBlock) => tree.open(&path(at)).map(Arc::new),
        opened => opened.map(|(file, _)| file),
    }
}

#[test]
fn a_file_in_memory_is_read_at_once_wherever_it_is_asked_for() {
    let Ok(root) = tempfile::tempdir_in("/dev/shm") else {
        return weir_testkit::untested("needs a tmpfs at /dev/shm");
    };
    // Only the end of the file is stored; the hole before it takes no space.
    let file = fs::File::create(root.path().join("a")).unwrap();
    file.set_len(1 << 20).unwrap();
    std::os::unix::fs::FileExt::write_all_at(&file, b"end", 1 << 20).unwrap();
    let tree = tree(root.path());
    let file = tree.open(&path("/a")).unwrap();
    assert!(file.is_in_memory());
    let mut bytes = [1; 3];
    assert_eq!(file.read_now(1000, &mut bytes), Ok(3));
    assert_eq!(bytes, [0; 3]);
    assert_eq!(file.read_now(1 << 20, &mut bytes), Ok(3));
    assert_eq!(bytes, *b"end");
    assert_eq!(file.read_now((1 << 20) + 3, &mut bytes), Ok(0));
}

/// Opens a file twice, so that the second time may return the cached one.
fn read_twice(files: &Files, at: &str) -> String {
    let (first, _) = files.open(&path(at)).unwrap();
    let (second, _) = files.open(&path(at)).unwrap();
    assert_eq!(content(&first), content(&second));
    content(&second)
}

fn write(root: &Path, name: &str, content: &str) {
    fs::write(root.join(name), content).unwrap();
}

#[test]
fn who_asks_again_gets_the_file_that_is_open() {
    let root = tempfile::tempdir().unwrap();
    write(root.path(), "a", "content");
    let files = open_files(&tree(root.path()), 4);
    let (first, memo) = files.open(&path("/a")).unwrap();
    memo.store(7, Relaxed);
    let (second, memo) = files.open(&path("/a")).unwrap();
    assert!(Arc::ptr_eq(&first, &second));
    assert_eq!((content(&second).as_str(), files.len()), ("content", 1));
    assert_eq!(memo.load(Relaxed), 7);
    let (third, _) = files.kept(&path("/a"), |memo| memo.load(Relaxed) == 7).unwrap();
    assert!(Arc::ptr_eq(&first, &third));
    assert!(files.kept(&path("/a"), |memo| memo.load(Relaxed) == 8).is_none());
    write(root.path(), "a", "another");
    assert!(files.kept(&path("/a"), |_| true).is_none());
    assert_eq!(files.open(&path("/a")).unwrap().1.load(Relaxed), 0);
}

#[test]
fn a_file_that_was_changed_by_anybody_is_opened_anew() {
    let root = tempfile::tempdir().unwrap();
    let tree = tree(root.path());
    let files = open_files(&tree, 4);
    write(root.path(), "a", "one");
    assert_eq!(read_twice(&files, "/a"), "one");
    // An upload replaces the file.
    put(&tree, "/a", b"two!").unwrap();
    assert_eq!(read_twice(&files, "/a"), "two!");
    // Another program writes into the file.
    write(root.path(), "a", "three");
    assert_eq!((read_twice(&files, "/a").as_str(), files.len()), ("three", 1));
    // A rename puts another file of the same length in its place.
    write(root.path(), "b", "four.");
    fs::rename(root.path().join("b"), root.path().join("a")).unwrap();
    assert_eq!(read_twice(&files, "/a"), "four.");
    let (kept, _) = files.open(&path("/a")).unwrap();
    fs::remove_file(root.path().join("a")).unwrap();
    assert_eq!(open(&files, &tree, "/a").unwrap_err(), StorageError::NotFound);
    assert_eq!((content(&kept).as_str(), files.len()), ("four.", 0));
}

#[test]
fn a_file_in_a_directory_that_was_moved_away_is_not_found_any_more() {
    let root = tempfile::tempdir().unwrap();
    fs::create_dir(root.path().join("d")).unwrap();
    write(root.path(), "d/a", "content");
    let tree = tree(root.path());
    let files = open_files(&tree, 4);
    assert_eq!(read_twice(&files, "/d/a"), "content");
    fs::rename(root.path().join("d"), root.path().join("e")).unwrap();
    assert_eq!(open(&files, &tree, "/d/a").unwrap_err(), StorageError::NotFound);
    assert_eq!(read_twice(&files, "/e/a"), "content");
}

#[test]
fn what_was_replaced_is_never_served_again_however_many_read_it() {
    let root = tempfile::tempdir().unwrap();
    fs::create_dir(root.path().join("d")).unwrap();
    write(root.path(), "d/a", "0");
    let tree = tree(root.path());
    let files = open_files(&tree, 4);
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while !done.load(Relaxed) {
                    open(&files, &tree, "/d/a").unwrap();
                }
            });
        }
        let _done = SetOnDrop(&done);
        for turn in 1..=100 {
            // Covers both constant changes of names and a pause that starts the watch.
            let until = Instant::now() + Duration::from_millis(if turn % 2 == 0 { 0 } else { 15 });
            while Instant::now() < until {
                open(&files, &tree, "/d/a").unwrap();
            }
            write(root.path(), "d/new", &turn.to_string());
            match turn % 3 {
                0 => fs::rename(root.path().join("d/new"), root.path().join("d/a")).unwrap(),
                _ => {
                    fs::create_dir(root.path().join("e")).unwrap();
                    fs::rename(root.path().join("d/new"), root.path().join("e/a")).unwrap();
                    exchange(root.path(), "d", "e");
                    assert_eq!(content(&open(&files, &tree, "/d/a").unwrap()), turn.to_string());
                    fs::remove_dir_all(root.path().join("e")).unwrap();
                }
            }
            assert_eq!(content(&open(&files, &tree, "/d/a").unwrap()), turn.to_string());
        }
    });
}

/// Exchanges the names of two directories in one step.
fn exchange(root: &Path, one: &str, other: &str) {
    renameat_with(CWD, root.join(one), CWD, root.join(other), RenameFlags::EXCHANGE).unwrap();
}

#[test]
fn a_link_in_the_place_of_an_open_file_is_judged_as_ever() {
    let (root, outside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    write(outside.path(), "secret", "secret");
    write(root.path(), "a", "content");
    for policy in [SymlinkPolicy::Never, SymlinkPolicy::InsideRoot, SymlinkPolicy::OwnerMatch] {
        let tree = tree_with(root.path(), policy);
        let files = open_files(&tree, 4);
        write(root.path(), "a", "content");
        assert_eq!(read_twice(&files, "/a"), "content");
        fs::remove_file(root.path().join("a")).unwrap();
        std::os::unix::fs::symlink(outside.path().join("secret"), root.path().join("a")).unwrap();
        assert!(open(&files, &tree, "/a").is_err(), "{policy:?}");
        fs::remove_file(root.path().join("a")).unwrap();
    }
}

#[test]
fn no_more_files_are_kept_than_may_be_and_those_asked_for_last_stay() {
    let root = tempfile::tempdir().unwrap();
    for name in ["a", "b", "c"] {
        write(root.path(), name, name);
    }
    let files = open_files(&tree(root.path()), 2);
    let (first, _) = files.open(&path("/a")).unwrap();
    let (second, _) = files.open(&path("/b")).unwrap();
    assert!(Arc::ptr_eq(&first, &files.open(&path("/a")).unwrap().0));
    files.open(&path("/c")).unwrap();
    assert_eq!(files.len(), 2);
    assert!(Arc::ptr_eq(&first, &files.open(&path("/a")).unwrap().0));
    assert!(!Arc::ptr_eq(&second, &files.open(&path("/b")).unwrap().0));
}

#[test]
fn none_is_kept_where_none_may_be() {
    let root = tempfile::tempdir().unwrap();
    write(root.path(), "a", "content");
    let files = open_files(&tree(root.path()), 0);
    assert_eq!((read_twice(&files, "/a").as_str(), files.len()), ("content", 0));
}

#[test]
fn what_nobody_asks_for_is_closed_after_a_while() {
    let root = tempfile::tempdir().unwrap();
    write(root.path(), "a", "content");
    let files = open_files(&tree(root.path()), 4);
    let held = Arc::downgrade(&files.open(&path("/a")).unwrap().0);
    files.sweep(Instant::now());
    assert_eq!(files.len(), 1);
    files.sweep(Instant::now() + KEPT_FOR);
    assert!(files.is_empty() && held.upgrade().is_none());
}

#[test]
fn a_file_that_is_asked_for_again_stays_open_while_its_path_leads_to_it() {
    let root = tempfile::tempdir().unwrap();
    write(root.path(), "a", "one");
    let tree = tree(root.path());
    // With this duration, each call resolves the path in full.
    let files: Files = OpenFiles::new(&tree, &disk(), 4, Duration::ZERO);
    let (first, memo) = files.open(&path("/a")).unwrap();
    memo.store(7, Relaxed);
    let (second, memo) = files.open(&path("/a")).unwrap();
    assert!(Arc::ptr_eq(&first, &second) && memo.load(Relaxed) == 7);
    put(&tree, "/a", b"two").unwrap();
    let (third, memo) = files.open(&path("/a")).unwrap();
    assert_eq!((content(&third).as_str(), memo.load(Relaxed), files.len()), ("two", 0, 1));
}

#[test]
fn what_is_being_read_stays_open_for_whoever_asks_next() {
    let root = tempfile::tempdir().unwrap();
    write(root.path(), "a", "content");
    let files = open_files(&tree(root.path()), 4);
    let (read, _) = files.open(&path("/a")).unwrap();
    files.sweep(Instant::now() + KEPT_FOR);
    assert_eq!(files.len(), 1);
    drop(read);
    files.sweep(Instant::now() + KEPT_FOR);
    assert!(files.is_empty());
}
