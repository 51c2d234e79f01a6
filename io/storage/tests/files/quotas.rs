//! Tests of accounts, counts and quotas.

use std::fs;

use weir_dav::xml::{Fragment, PropertyUpdate, XmlLimits};
use weir_storage::{
    CopyOptions, Count, Durability, Partial, PartialId, PartialState, StartedFrom, StorageError, Tree, Upload,
};

use crate::support::*;

/// Counts the whole tree, one entry at a time.
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
    // Replaces a directory by a directory, a file by a directory, and a directory by a file.
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
    drop(before);
    let after = Tree::open_root(directory.path(), options("two", 2)).unwrap();
    after.recall_count().unwrap();
    assert_eq!(used(&after), (Some(5), Some(1)));
    // A damaged account counts as missing.
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
    // A replacement needs quota only for its additional bytes.
    let promised = begin("/f", Some(100)).unwrap();
    assert_eq!(begin("/g", Some(1)).err(), Some(StorageError::OverQuota));
    drop(promised);
    // Without a length, the error occurs when the bytes arrive.
    let mut growing = begin("/g", None).unwrap();
    growing.write(&[0; 40]).unwrap();
    assert_eq!(growing.write(&[0; 1]), Err(StorageError::OverQuota));
    drop(growing);
    let failure = tree.copy(&path("/f"), &path("/h"), DEEP, &mut |_, _| true, &GO_ON).unwrap_err();
    assert_eq!(failure.error, StorageError::OverQuota);
    assert_eq!(used(&tree), (Some(60), Some(1)));
    // A move needs no quota, and neither does a smaller replacement.
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
            // Another program moves the file.
            std::fs::rename(directory.path().join("f"), directory.path().join("h")).unwrap();
        }
        step()
    });
    assert_eq!(copied.unwrap_err().error, StorageError::OverQuota);
    assert_eq!((get(&tree, "/f").err(), used(&tree)), (Some(StorageError::NotFound), (Some(120), Some(2))));
}

/// Opens two nodes that share a directory.
fn two_nodes(root: &std::path::Path) -> [std::sync::Arc<Tree>; 2] {
    ["one", "two"].map(|node| Tree::open_root(root, options(node, 1)).unwrap())
}

#[test]
fn nodes_that_share_a_directory_keep_its_quota_together() {
    const QUOTA: u64 = 1_000_000;
    let directory = tempfile::tempdir().unwrap();
    let nodes = two_nodes(directory.path());
    for node in &nodes {
        node.ledger().set_quota(Some(QUOTA));
    }
    // Some files are so small that the nodes do not ask each other.
    for (number, bytes) in [300, 10_000, 50].into_iter().cycle().enumerate() {
        let put = |node: &_| put(node, &format!("/{number}"), &vec![0; bytes]);
        match put(&nodes[number % 2]) {
            Err(StorageError::OverQuota) => break,
            done => drop(done.unwrap()),
        }
    }
    let on_disk = |root: &std::path::Path| -> u64 {
        // A temporary file may be gone by now.
        let files = fs::read_dir(root).unwrap().filter_map(|it| it.unwrap().metadata().ok());
        files.filter(fs::Metadata::is_file).map(|file| file.len()).sum()
    };
    // Each node may exceed its share by a thousandth of the quota.
    let used = on_disk(directory.path());
    assert!((QUOTA - 10_000 - 2_000..=QUOTA + 2_000).contains(&used), "{used}");
    // A node may use what the other one has removed, once that has reported it.
    let [one, two] = &nodes;
    assert_eq!(put(two, "/more", &[0; 12_000]).unwrap_err(), StorageError::OverQuota);
    one.remove(&path("/1"), Durability::None).unwrap();
    one.remove(&path("/4"), Durability::None).unwrap();
    one.share_usage().unwrap();
    put(two, "/more", &[0; 12_000]).unwrap();
    assert!(on_disk(directory.path()) <= QUOTA + 2_000);
}

#[test]
fn what_uploads_to_one_node_were_promised_is_not_promised_by_another() {
    let directory = tempfile::tempdir().unwrap();
    let [one, two] = two_nodes(directory.path());
    for node in [&one, &two] {
        node.ledger().set_quota(Some(1_000_000));
    }
    let begin =
        |node: &std::sync::Arc<Tree>, length| Upload::begin(node, &disk(), &path("/f"), &[], Some(length));
    let under_way = begin(&one, 600_000).unwrap();
    assert_eq!(begin(&two, 500_000).err(), Some(StorageError::OverQuota));
    drop(begin(&two, 400_000).unwrap());
    drop(under_way);
    one.share_usage().unwrap();
    drop(begin(&two, 900_000).unwrap());
    // A restarted node knows the changes that it reported before.
    put(&one, "/kept", &[0; 50_000]).unwrap();
    one.share_usage().unwrap();
    drop(one);
    let again = Tree::open_root(directory.path(), options("one", 2)).unwrap();
    again.ledger().set_quota(Some(1_000_000));
    two.share_usage().unwrap();
    assert_eq!(begin(&again, 960_000).err(), Some(StorageError::OverQuota));
    drop(begin(&again, 940_000).unwrap());
}

#[test]
fn a_count_is_for_all_nodes_and_forgets_nothing_that_they_change_meanwhile() {
    let directory = tempfile::tempdir().unwrap();
    if fs::metadata(directory.path()).unwrap().created().is_err() {
        return weir_testkit::untested("this file system does not tell when files came");
    }
    let [one, two] = two_nodes(directory.path());
    let share = || {
        for node in [&two, &one, &two] {
            node.share_usage().unwrap();
        }
    };
    for name in ["stays", "replaced", "gone"] {
        fs::write(directory.path().join(name), [0; 100]).unwrap();
    }
    count(&one);
    share();
    assert_eq!([used(&one), used(&two)], [(Some(300), Some(3)); 2]);
    put(&two, "/before", &[0; 10]).unwrap();
    share();
    assert_eq!([used(&one), used(&two)], [(Some(310), Some(4)); 2]);

    next_tick(directory.path());
    let mut counting = Count::begin(&one, true).unwrap();
    next_tick(directory.path());
    assert_eq!(Count::begin(&two, true).err(), Some(StorageError::Busy));
    share();
    // This node knows of the count and changes files before the count has seen anything.
    put(&two, "/replaced", &[0; 50]).unwrap();
    put(&two, "/new", &[0; 7]).unwrap();
    two.remove(&path("/gone"), Durability::None).unwrap();
    for _ in 0..10 {
        put(&two, "/again", &[0; 1_000]).unwrap();
    }
    two.remove(&path("/again"), Durability::None).unwrap();
    two.share_usage().unwrap();
    // This change is not reported before the count ends.
    put(&two, "/late", &[0; 3]).unwrap();
    while !counting.step(1).unwrap() {}
    share();
    assert_eq!([used(&one), used(&two)], [(Some(100 + 10 + 50 + 7 + 3), Some(5)); 2]);

    // A count that was given up does not keep other nodes from counting.
    drop(Count::begin(&one, true).unwrap());
    assert_eq!(Count::begin(&two, true).err(), Some(StorageError::Busy));
    one.share_usage().unwrap();
    count(&two);
    share();
    assert_eq!([used(&one), used(&two)], [(Some(170), Some(5)); 2]);
}

#[test]
fn a_node_that_has_not_heard_of_a_count_goes_by_it_afterwards() {
    let directory = tempfile::tempdir().unwrap();
    let [one, two] = two_nodes(directory.path());
    count(&one);
    two.share_usage().unwrap();
    put(&two, "/told", &[0; 20]).unwrap();
    two.share_usage().unwrap();
    next_tick(directory.path());
    let mut counting = Count::begin(&one, true).unwrap();
    next_tick(directory.path());
    put(&two, "/untold", &[0; 3]).unwrap();
    while !counting.step(1).unwrap() {}
    assert_eq!(used(&one), (Some(20), Some(1)));
    two.share_usage().unwrap();
    one.share_usage().unwrap();
    assert_eq!([used(&one), used(&two)], [(Some(23), Some(2)); 2]);
}

/// Waits until the clock of the file system has advanced to its next step.
fn next_tick(directory: &std::path::Path) {
    let now = || {
        let file = directory.join(".weir-tmp~tick");
        fs::write(&file, "").unwrap();
        let modified = fs::metadata(&file).unwrap().modified().unwrap();
        fs::remove_file(&file).unwrap();
        modified
    };
    let first = now();
    while now() == first {}
}

#[test]
fn what_changes_ahead_of_a_count_or_behind_it_is_never_forgotten() {
    let directory = tempfile::tempdir().unwrap();
    if fs::metadata(directory.path()).unwrap().created().is_err() {
        // Without creation times, an account may be too large until the next count.
        return weir_testkit::untested("this file system does not tell when files came");
    }
    let tree = tree(directory.path());
    for name in ["gone", "shorter", "longer", "moved", "noted", "stays"] {
        put(&tree, &format!("/{name}"), &[0; 10]).unwrap();
    }
    count(&tree);
    assert_eq!(used(&tree), (Some(60), Some(6)));
    next_tick(directory.path());
    let change = || {
        next_tick(directory.path());
        tree.remove(&path("/gone"), Durability::None).unwrap();
        put(&tree, "/shorter", &[0; 1]).unwrap();
        put(&tree, "/longer", &[0; 100]).unwrap();
        tree.rename(&path("/moved"), &path("/renamed"), true, Durability::None, &GO_ON).unwrap();
        // Changes only the file's times.
        let noted = directory.path().join("noted");
        fs::set_permissions(&noted, fs::metadata(&noted).unwrap().permissions()).unwrap();
        // Files that are created and removed again leave nothing in the account.
        for _ in 0..100 {
            put(&tree, "/again", &[0; 1_000]).unwrap();
        }
        tree.remove(&path("/again"), Durability::None).unwrap();
    };
    // The count has seen nothing before these changes, so it is exact.
    let mut ahead = Count::begin(&tree, true).unwrap();
    change();
    while !ahead.step(1).unwrap() {}
    assert_eq!(used(&tree), (Some(10 + 1 + 100 + 10 + 10), Some(5)));
    // The count has seen everything before these changes. Its result still contains what was removed, and no
    // more.
    for name in ["gone", "shorter", "longer", "moved"] {
        put(&tree, &format!("/{name}"), &[0; 10]).unwrap();
    }
    tree.remove(&path("/renamed"), Durability::None).unwrap();
    next_tick(directory.path());
    let mut behind = Count::begin(&tree, true).unwrap();
    // Seven members, and `.` and `..`.
    assert!(!behind.step(9).unwrap());
    change();
    while !behind.step(1).unwrap() {}
    let (bytes, files) = used(&tree);
    assert!((131..=131 + 30 + 10).contains(&bytes.unwrap()) && files.unwrap() >= 5, "{bytes:?} {files:?}");
    count(&tree);
    assert_eq!(used(&tree), (Some(131), Some(5)));
}

#[test]
fn parts_in_a_removed_directory_and_names_that_went_are_off_the_account() {
    let directory = tempfile::tempdir().unwrap();
    let tree = tree(directory.path());
    fs::create_dir(directory.path().join("d")).unwrap();
    put(&tree, "/a", &[0; 10]).unwrap();
    fs::hard_link(directory.path().join("a"), directory.path().join("b")).unwrap();
    let state = PartialState::new(&path("/d/f"), String::new(), StartedFrom::Anything, 1);
    let partial = Partial::create(&tree, PartialId::new([1; 16]), state).unwrap();
    let mut upload = Upload::resume(partial, &[]).unwrap();
    upload.write(&[0; 100]).unwrap();
    upload.settle(Durability::None, 1).unwrap();
    drop(upload);
    count(&tree);
    assert_eq!(used(&tree), (Some(120), Some(2)));
    tree.remove(&path("/d"), Durability::None).unwrap();
    assert_eq!(used(&tree), (Some(20), Some(2)));
    // The file has two names, of which the move leaves one.
    tree.rename(&path("/a"), &path("/b"), true, Durability::None, &GO_ON).unwrap();
    assert_eq!(used(&tree), (Some(10), Some(1)));
}

#[test]
fn what_is_left_of_an_upload_of_which_nothing_is_known_is_removed_by_a_count_when_it_is_old() {
    let directory = tempfile::tempdir().unwrap();
    let tree = tree(directory.path());
    fs::create_dir(directory.path().join("d")).unwrap();
    let begin = |name: &str, id: u8| {
        let state = PartialState::new(&path(name), String::new(), StartedFrom::Anything, 1);
        let partial = Partial::create(&tree, PartialId::new([id; 16]), state).unwrap();
        let mut upload = Upload::resume(partial, &[]).unwrap();
        upload.write(b"some").unwrap();
        upload
    };
    drop(begin("/d/orphan", 1));
    drop(begin("/known", 2));
    drop(begin("/young", 3));
    let at_work = begin("/at-work", 4);
    let part =
        |at: &str, id: u8| directory.path().join(at).join(format!(".weir-part~{}", PartialId::new([id; 16])));
    let age = |file: &std::path::Path| {
        let file = fs::File::options().write(true).open(file).unwrap();
        file.set_modified(std::time::UNIX_EPOCH).unwrap();
    };
    // The directory is moved, so that its upload loses its state.
    fs::rename(directory.path().join("d"), directory.path().join("e")).unwrap();
    for id in [1, 3, 4] {
        tree.forget_partial(PartialId::new([id; 16])).unwrap();
    }
    for file in [part("e", 1), part("", 2), part("", 4)] {
        age(&file);
    }
    count(&tree);
    assert!(!part("e", 1).exists());
    assert!(part("", 2).exists() && part("", 3).exists() && part("", 4).exists());
    assert_eq!(used(&tree), (Some(12), Some(0)));
    drop(at_work);
    age(&part("", 4));
    count(&tree);
    assert!(!part("", 4).exists());
    assert_eq!(used(&tree), (Some(8), Some(0)));
}

fn property(name: &str, bytes: usize) -> PropertyUpdate {
    let text = format!("<{name}>{}</{name}>", "x".repeat(bytes));
    PropertyUpdate::Set(Fragment::parse(&text, &XmlLimits::default()).unwrap())
}

#[test]
fn properties_that_clients_set_count_towards_the_quota() {
    let directory = tempfile::tempdir().unwrap();
    let tree = tree(directory.path());
    tree.create_directory(&path("/d"), Durability::None).unwrap();
    put(&tree, "/d/f", b"content").unwrap();
    count(&tree);
    let empty = used(&tree).0.unwrap();
    let set = |at: &str, update: PropertyUpdate| {
        tree.update_properties(&path(at), &[update], Durability::None).map(|_| ())
    };
    // Some properties fit into attributes, some do not.
    for (at, bytes) in [("/", 100), ("/d", 200), ("/d", 100_000), ("/d/f", 300), ("/d/f", 200_000)] {
        let name = format!("p{bytes}");
        let before = used(&tree).0.unwrap();
        set(at, property(&name, bytes)).unwrap();
        let after = used(&tree).0.unwrap();
        assert!(after - before >= bytes as u64, "{at} {bytes}: {before} {after}");
        // A count finds the same.
        count(&tree);
        assert_eq!(used(&tree).0, Some(after), "{at} {bytes}");
    }
    let all = used(&tree).0.unwrap();
    tree.ledger().set_quota(Some(all + 1_000));
    assert_eq!(set("/d/f", property("more", 1_000)), Err(StorageError::OverQuota));
    assert_eq!(used(&tree).0, Some(all));
    set("/d/f", property("more", 500)).unwrap();
    tree.ledger().set_quota(Some(10 * all));

    // Properties are copied with copies, stay with replaced files, and are removed with their resource.
    let all = used(&tree).0.unwrap();
    let copy = |to: &str| tree.copy(&path("/d"), &path(to), DEEP, &mut |_, _| true, &GO_ON).unwrap();
    copy("/copy");
    put(&tree, "/d/f", b"CONTENT").unwrap();
    let counted = |what: &str| {
        let told = used(&tree);
        count(&tree);
        assert_eq!(used(&tree), told, "{what}");
        told.0.unwrap()
    };
    assert!(counted("copied") > all + 300_000);
    copy("/copy");
    counted("copied over a directory");
    tree.rename(&path("/copy/f"), &path("/d/f"), true, Durability::None, &GO_ON).unwrap();
    counted("moved over a file");
    tree.remove(&path("/d/f"), Durability::None).unwrap();
    counted("a file removed");
    tree.remove(&path("/d"), Durability::None).unwrap();
    tree.remove(&path("/copy"), Durability::None).unwrap();
    assert!(counted("all removed") < empty + 1_000);
}

#[test]
fn there_are_no_more_files_and_directories_than_an_area_may_have() {
    let directory = tempfile::tempdir().unwrap();
    let tree = tree(directory.path());
    tree.create_directory(&path("/d"), Durability::None).unwrap();
    put(&tree, "/d/f", b"content").unwrap();
    count(&tree);
    tree.ledger().set_entries_max(Some(4));
    put(&tree, "/d/g", b"content").unwrap();
    let copy = |to: &str| tree.copy(&path("/d"), &path(to), DEEP, &mut |_, _| true, &GO_ON);
    assert_eq!(copy("/copy").map_err(|failure| failure.error), Err(StorageError::OverQuota));
    tree.create_directory(&path("/e"), Durability::None).unwrap();
    assert_eq!(put(&tree, "/h", b"").err(), Some(StorageError::OverQuota));
    assert_eq!(tree.create_directory(&path("/h"), Durability::None), Err(StorageError::OverQuota));
    // A replacement or a move adds no entry, and a removal frees one.
    put(&tree, "/d/f", b"new").unwrap();
    tree.rename(&path("/d/f"), &path("/e/f"), true, Durability::None, &GO_ON).unwrap();
    tree.remove(&path("/d"), Durability::None).unwrap();
    put(&tree, "/h", b"").unwrap();
    put(&tree, "/i", b"").unwrap();
    assert_eq!(put(&tree, "/j", b"").err(), Some(StorageError::OverQuota));
}
