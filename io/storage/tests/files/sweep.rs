//! Tests of the removal of leftovers.

use std::fs;

use weir_storage::{Disk, Sweep, Swept, Tree, Upload};

use crate::support::*;

/// Leaves an upload behind as a killed process does: its file exists, and no process has it open.
fn abandon(root: &std::path::Path, node: &str, boot: u64, at: &str) {
    let tree = Tree::open_root(root, options(node, boot)).unwrap();
    let disk = Disk::new("gone", 1, 9);
    let mut upload = Upload::begin(&tree, &disk, &path(at), &[], None).unwrap();
    upload.write(b"half").unwrap();
    let before = temporaries(root);
    let name = format!(".weir-tmp~{node}~{boot:016x}~0");
    assert!(before.contains(&name));
    let parent = root.join(path(at).parent().unwrap().href(true).trim_start_matches('/'));
    fs::hard_link(parent.join(&name), parent.join("kept-name")).unwrap();
    drop(upload);
    settle(&disk);
    fs::rename(parent.join("kept-name"), parent.join(&name)).unwrap();
}

#[test]
fn a_start_removes_what_its_own_node_left_and_nothing_of_others() {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path();
    fs::create_dir_all(root.join("a/b")).unwrap();
    abandon(root, "one", 1, "/a/b/x");
    abandon(root, "other", 1, "/a/y");
    // A node name that begins with this node's name belongs to another node.
    abandon(root, "one.more", 1, "/z");
    let tree = Tree::open_root(root, options("one", 2)).unwrap();
    sweep_to(&tree, Swept { removed: 1, kept: 0 });
    assert_eq!(
        temporaries(root),
        [".weir-tmp~one.more~0000000000000001~0", ".weir-tmp~other~0000000000000001~0"]
    );
    assert_eq!(tree.sweep().unwrap(), Swept::default());
}

#[test]
fn an_upload_of_a_process_that_still_drains_goes_on() {
    let directory = tempfile::tempdir().unwrap();
    let old = Tree::open_root(directory.path(), options("one", 1)).unwrap();
    let mut upload = Upload::begin(&old, &disk(), &path("/f"), &[], None).unwrap();
    let new = Tree::open_root(directory.path(), options("one", 2)).unwrap();
    assert_eq!(new.sweep().unwrap(), Swept::default());
    upload.write(b"late").unwrap();
    upload.commit(COMMIT).unwrap();
    assert_eq!(get(&new, "/f").unwrap(), b"late");
}

#[test]
fn after_a_start_of_the_machine_everything_is_searched() {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path();
    fs::create_dir_all(root.join("a/b")).unwrap();
    abandon(root, "one", 1, "/a/b/x");
    let journal = root.join(".weir-store/journal~one~0000000000000001");
    // A power failure has lost the list of directories.
    fs::write(&journal, "another boot\n").unwrap();
    let tree = Tree::open_root(root, options("one", 2)).unwrap();
    sweep_to(&tree, Swept { removed: 1, kept: 0 });
    assert!(temporaries(root).is_empty() && !journal.exists());
}

#[test]
fn a_search_everywhere_is_made_of_short_steps() {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path();
    for number in 0..20 {
        let home = root.join(format!("a/{number}"));
        fs::create_dir_all(&home).unwrap();
        fs::write(home.join(format!(".weir-tmp~one~0000000000000001~{number}")), "half").unwrap();
    }
    fs::create_dir(root.join(".weir-store")).unwrap();
    fs::write(root.join(".weir-store/journal~one~0000000000000001"), "another boot\n").unwrap();
    let tree = Tree::open_root(root, options("one", 2)).unwrap();
    let mut sweep = Sweep::begin(&tree).unwrap().unwrap();
    let mut left = 20;
    loop {
        let done = sweep.step(3);
        let now = temporaries(root).len();
        assert!(now + 3 >= left, "{left}, {now}");
        left = now;
        if done {
            break;
        }
    }
    assert_eq!((left, sweep.swept()), (0, Swept { removed: 20, kept: 0 }));
}

#[test]
fn what_made_room_for_something_that_never_came_is_given_back() {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path();
    // A process that is killed between two renames leaves this state.
    for (number, name) in [(0, "gone"), (1, "taken")] {
        let holder = root.join(format!("a/.weir-old~one~0000000000000001~{number}"));
        fs::create_dir_all(holder.join(name)).unwrap();
        fs::write(holder.join(name).join("f"), "only copy").unwrap();
    }
    fs::create_dir_all(root.join("a/taken")).unwrap();
    fs::create_dir(root.join(".weir-store")).unwrap();
    fs::write(root.join(".weir-store/journal~one~0000000000000001"), "another boot\n").unwrap();
    let tree = Tree::open_root(root, options("one", 2)).unwrap();
    // It is unclear which entry is wanted, so both are kept.
    sweep_to(&tree, Swept { removed: 1, kept: 1 });
    assert_eq!(get(&tree, "/a/gone/f").unwrap(), b"only copy");
    assert!(root.join("a/.weir-old~one~0000000000000001~1/taken/f").exists());
    fs::remove_dir(root.join("a/taken")).unwrap();
    sweep_to(&tree, Swept { removed: 1, kept: 0 });
    assert_eq!(get(&tree, "/a/taken/f").unwrap(), b"only copy");
}

#[test]
fn a_leftover_whose_lock_cannot_be_asked_for_goes_with_its_process_or_with_age() {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path();
    // A socket can be neither opened nor locked. The journal shows that the first start has ended; the third
    // has no journal.
    let leftover = |boot: u64| root.join(format!(".weir-tmp~one~{boot:016x}~0"));
    let _sockets = [1, 3].map(|boot| std::os::unix::net::UnixListener::bind(leftover(boot)).unwrap());
    fs::create_dir(root.join(".weir-store")).unwrap();
    fs::write(root.join(".weir-store/journal~one~0000000000000001"), "another boot\n").unwrap();
    let tree = Tree::open_root(root, options("one", 2)).unwrap();
    sweep_to(&tree, Swept { removed: 1, kept: 1 });
    assert!(leftover(3).exists());
    let long_ago = rustix::fs::Timespec { tv_sec: 1_000_000_000, tv_nsec: 0 };
    let times = rustix::fs::Timestamps { last_access: long_ago, last_modification: long_ago };
    let flags = rustix::fs::AtFlags::SYMLINK_NOFOLLOW;
    rustix::fs::utimensat(rustix::fs::CWD, leftover(3), &times, flags).unwrap();
    sweep_to(&tree, Swept { removed: 1, kept: 0 });
}

#[test]
fn what_two_trees_of_one_process_at_one_root_have_left_is_found() {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path();
    let (disk, dead) = (Disk::new("gone", 1, 9), options("one", 1));
    // The second tree appears after a reload, for example.
    let trees = [(); 2].map(|()| Tree::open_root(root, dead.clone()).unwrap());
    let mut uploads = Vec::new();
    for at in ["a", "b", "c", "d"] {
        fs::create_dir(root.join(at)).unwrap();
        let tree = &trees[uploads.len() % 2];
        uploads.push(Upload::begin(tree, &disk, &path(&format!("/{at}/f")), &[], None).unwrap());
        let name = temporaries(&root.join(at)).remove(0);
        fs::hard_link(root.join(at).join(&name), root.join(at).join("kept-name")).unwrap();
    }
    drop((uploads, trees));
    settle(&disk);
    for at in ["a", "b", "c", "d"] {
        let kept = root.join(at).join("kept-name");
        fs::rename(kept, root.join(at).join(".weir-tmp~one~0000000000000001~9")).unwrap();
    }
    let tree = Tree::open_root(root, options("one", 2)).unwrap();
    sweep_to(&tree, Swept { removed: 4, kept: 0 });
    assert!(temporaries(root).is_empty());
}
