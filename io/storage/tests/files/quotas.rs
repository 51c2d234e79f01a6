use std::fs;

use weir_storage::{CopyOptions, Count, Durability, StorageError, Tree, Upload};

use crate::support::*;

/// Counts all that is there, one entry at a time.
fn count(tree: &std::sync::Arc<Tree>) {
    let mut count = Count::begin(tree, true).unwrap();
    while !count.step(1).unwrap() {}
}

fn used(tree: &Tree) -> (Option<u64>, Option<u64>) {
    let account = tree.ledger().account();
    (account.used, account.files)
}

const DEEP: CopyOptions = CopyOptions { deep: true, overwrite: true, durability: Durability::None };

#[test]
fn what_changes_is_in_the_account_at_once_and_a_count_says_the_same() {
    let directory = tempfile::tempdir().unwrap();
    let tree = tree(directory.path());
    assert_eq!(used(&tree), (None, None));
    fs::create_dir_all(directory.path().join("d/e")).unwrap();
    fs::write(directory.path().join("d/e/f"), [0; 100]).unwrap();
    fs::write(directory.path().join("g"), [0; 10]).unwrap();
    std::os::unix::fs::symlink("g", directory.path().join("link")).unwrap();
    count(&tree);
    assert_eq!(used(&tree), (Some(110), Some(2)));

    put(&tree, "/g", &[0; 15]).unwrap();
    put(&tree, "/h", &[0; 5]).unwrap();
    assert_eq!(used(&tree), (Some(120), Some(3)));
    let copy = |from: &str, to: &str| {
        tree.copy(&path(from), &path(to), DEEP, &mut |_, _| true, &GO_ON).unwrap();
    };
    copy("/d", "/c");
    copy("/g", "/h");
    assert_eq!(used(&tree), (Some(230), Some(4)));
    // A directory in the place of a directory, then of a file, then a file in the place of a directory.
    copy("/d/e", "/c");
    assert_eq!(used(&tree), (Some(230), Some(4)));
    copy("/d/e", "/h");
    assert_eq!(used(&tree), (Some(315), Some(4)));
    copy("/g", "/h");
    assert_eq!(used(&tree), (Some(230), Some(4)));
    let rename = |from: &str, to: &str| {
        tree.rename(&path(from), &path(to), true, Durability::None, &GO_ON).unwrap();
    };
    rename("/g", "/h");
    assert_eq!(used(&tree), (Some(215), Some(3)));
    rename("/h", "/c");
    assert_eq!(used(&tree), (Some(115), Some(2)));
    tree.remove(&path("/d"), Durability::None).unwrap();
    tree.remove(&path("/c"), Durability::None).unwrap();
    assert_eq!(used(&tree), (Some(0), Some(0)));
    put(&tree, "/x", b"12345").unwrap();
    count(&tree);
    assert_eq!(used(&tree), (Some(5), Some(1)));
}

#[test]
fn the_next_start_goes_by_what_was_counted_until_it_has_counted_itself() {
    let directory = tempfile::tempdir().unwrap();
    let before = tree(directory.path());
    put(&before, "/x", b"12345").unwrap();
    count(&before);
    before.keep_count().unwrap();
    drop(before);
    let after = Tree::open_root(directory.path(), options("two", 2)).unwrap();
    after.recall_count().unwrap();
    assert_eq!(used(&after), (Some(5), Some(1)));
    // What is damaged is none.
    fs::write(directory.path().join(".weir-store/usage.json"), "{").unwrap();
    let other = Tree::open_root(directory.path(), options("two", 3)).unwrap();
    other.recall_count().unwrap();
    assert_eq!(used(&other), (None, None));
}

#[test]
fn what_does_not_fit_into_the_quota_is_refused_and_changes_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let tree = tree(directory.path());
    fs::write(directory.path().join("f"), [1; 60]).unwrap();
    count(&tree);
    tree.ledger().set_quota(Some(100));
    let begin = |at: &str, length| Upload::begin(&tree, &disk(), &path(at), &[], length);
    assert_eq!(begin("/g", Some(41)).err(), Some(StorageError::OverQuota));
    // In the place of another only what it is longer counts.
    let promised = begin("/f", Some(100)).unwrap();
    assert_eq!(begin("/g", Some(1)).err(), Some(StorageError::OverQuota));
    drop(promised);
    // Of unknown length: found when it comes.
    let mut growing = begin("/g", None).unwrap();
    growing.write(&[0; 40]).unwrap();
    assert_eq!(growing.write(&[0; 1]), Err(StorageError::OverQuota));
    drop(growing);
    let failure = tree.copy(&path("/f"), &path("/h"), DEEP, &mut |_, _| true, &GO_ON).unwrap_err();
    assert_eq!(failure.error, StorageError::OverQuota);
    assert_eq!(used(&tree), (Some(60), Some(1)));
    // Moving takes up nothing, and what is less than before goes in whatever the quota is.
    tree.ledger().set_quota(Some(10));
    tree.rename(&path("/f"), &path("/h"), true, Durability::None, &GO_ON).unwrap();
    put(&tree, "/h", &[2; 50]).unwrap();
    assert_eq!(used(&tree), (Some(50), Some(1)));
    assert_eq!(tree.ledger().account().left, Some(0));
}

#[test]
fn what_was_to_be_replaced_and_is_elsewhere_by_then_counts_when_the_new_becomes_visible() {
    let directory = tempfile::tempdir().unwrap();
    let tree = tree(directory.path());
    put(&tree, "/f", &[1; 60]).unwrap();
    count(&tree);
    tree.ledger().set_quota(Some(100));
    let rename = |from: &str, to: &str| {
        tree.rename(&path(from), &path(to), true, Durability::None, &GO_ON).unwrap();
    };
    let mut upload = Upload::begin(&tree, &disk(), &path("/f"), &[], Some(60)).unwrap();
    upload.write(&[2; 60]).unwrap();
    rename("/f", "/g");
    assert_eq!(upload.commit(COMMIT).err(), Some(StorageError::OverQuota));
    assert_eq!((get(&tree, "/f").err(), used(&tree)), (Some(StorageError::NotFound), (Some(60), Some(1))));

    tree.ledger().set_quota(Some(120));
    put(&tree, "/f", &[2; 60]).unwrap();
    let moved = std::cell::Cell::new(false);
    let copied = tree.copy_through(&path("/g"), &path("/f"), DEEP, &mut |_, _| true, &GO_ON, &mut |step| {
        if !moved.replace(true) {
            rename("/f", "/h");
        }
        step()
    });
    assert_eq!(copied.unwrap_err().error, StorageError::OverQuota);
    assert_eq!((get(&tree, "/f").err(), used(&tree)), (Some(StorageError::NotFound), (Some(120), Some(2))));
}
