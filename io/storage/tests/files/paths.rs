//! Tests of path lookups, which must stay within the root.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{lchown, symlink};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use weir_dav::path::{DavPath, PathLimits};
use weir_storage::{StorageError, SymlinkPolicy};
use weir_testkit::SetOnDrop;

use crate::support::*;

/// Creates `root/` with a file in it, and a secret file beside it.
fn world() -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    fs::create_dir_all(directory.path().join("root/inner")).unwrap();
    fs::write(directory.path().join("root/inner/file"), "inside").unwrap();
    fs::write(directory.path().join("secret"), "outside").unwrap();
    directory
}

fn root(world: &tempfile::TempDir) -> std::path::PathBuf {
    world.path().join("root")
}

#[test]
fn no_encoding_of_a_path_leads_out_of_the_root() {
    let world = world();
    let tree = tree_with(&root(&world), SymlinkPolicy::InsideRoot);
    let ups = [
        "..",
        "%2e%2e",
        "%2E.",
        ".%2e",
        "..%2f",
        "%2e%2e%2f",
        "%252e%252e",
        "..%5c",
        "%c0%ae%c0%ae",
        "%uff0e",
    ];
    for up in ups {
        for text in [format!("/{up}/secret"), format!("/inner/{up}/{up}/secret"), format!("//{up}//secret")] {
            // The path is either invalid or leads to nothing.
            if let Ok(read) = DavPath::parse(text.as_bytes(), &PathLimits::default()) {
                let opened = tree.open(&read.path);
                assert!(matches!(opened, Err(StorageError::NotFound)), "{text}: {opened:?}");
            }
        }
    }
}

#[test]
fn links_are_followed_as_the_policy_says_and_never_out_of_the_root() {
    let world = world();
    let root = root(&world);
    symlink("inner/file", root.join("good")).unwrap();
    symlink("inner", root.join("directory")).unwrap();
    symlink("../inner/../inner/file", root.join("inner/back")).unwrap();
    symlink("../secret", root.join("up")).unwrap();
    symlink(world.path().join("secret"), root.join("absolute")).unwrap();
    symlink(root.join("inner/file"), root.join("absolute-inside")).unwrap();
    symlink("loop", root.join("loop")).unwrap();
    symlink("/proc/self/root/etc/passwd", root.join("magic")).unwrap();
    for (policy, follows) in
        [(SymlinkPolicy::Never, false), (SymlinkPolicy::InsideRoot, true), (SymlinkPolicy::OwnerMatch, true)]
    {
        let tree = tree_with(&root, policy);
        for good in ["/good", "/directory/file", "/inner/back"] {
            let expected = if follows { Ok(b"inside".to_vec()) } else { Err(StorageError::Refused) };
            assert_eq!(get(&tree, good), expected, "{policy:?} {good}");
            // From the cache, the result is the same or `WouldBlock`.
            let cached = tree.open_cached(&path(good)).map(|file| file.metadata().size);
            assert!(
                matches!(cached, Err(StorageError::WouldBlock))
                    || cached == expected.map(|content| content.len() as u64),
                "{policy:?} {good}: {cached:?}"
            );
        }
        for bad in ["/up", "/absolute", "/absolute-inside", "/loop", "/magic"] {
            assert_eq!(get(&tree, bad), Err(StorageError::Refused), "{policy:?} {bad}");
            assert_eq!(tree.metadata(&path(bad)).unwrap_err(), StorageError::Refused, "{policy:?} {bad}");
        }
        let mut listing = tree.list(&path("/")).unwrap();
        let names: std::collections::BTreeSet<_> =
            listing.next_batch(100).unwrap().into_iter().map(|entry| entry.name).collect();
        let shown = |name: &str| names.contains(name.as_bytes());
        assert!(shown("inner") && !shown("up") && !shown("loop") && !shown("magic"), "{policy:?}");
        assert_eq!(shown("good"), follows, "{policy:?}");
    }
}

#[test]
fn a_link_of_another_owner_is_not_followed_where_owners_must_match() {
    let world = world();
    let root = root(&world);
    symlink("inner/file", root.join("foreign")).unwrap();
    symlink("inner", root.join("foreign-directory")).unwrap();
    symlink("foreign", root.join("chain")).unwrap();
    if lchown(root.join("foreign"), Some(12_345), None).is_err() {
        return weir_testkit::untested("only root can change the owner of a file");
    }
    lchown(root.join("foreign-directory"), Some(12_345), None).unwrap();
    let tree = tree_with(&root, SymlinkPolicy::OwnerMatch);
    for bad in ["/foreign", "/foreign-directory/file", "/chain"] {
        assert_eq!(get(&tree, bad), Err(StorageError::Refused), "{bad}");
    }
    assert_eq!(get(&tree_with(&root, SymlinkPolicy::InsideRoot), "/foreign").unwrap(), b"inside");
}

#[test]
fn a_directory_that_becomes_a_link_while_it_is_looked_up_leads_nowhere() {
    let world = world();
    let root = root(&world);
    fs::create_dir(world.path().join("outer")).unwrap();
    fs::write(world.path().join("outer/file"), "outside").unwrap();
    symlink("../outer", root.join("link")).unwrap();
    fs::create_dir(root.join("swapped")).unwrap();
    fs::write(root.join("swapped/file"), "inside").unwrap();
    for policy in [SymlinkPolicy::Never, SymlinkPolicy::InsideRoot, SymlinkPolicy::OwnerMatch] {
        let tree = tree_with(&root, policy);
        let stop = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !stop.load(Ordering::Relaxed) {
                    rustix::fs::renameat_with(
                        rustix::fs::CWD,
                        root.join("swapped"),
                        rustix::fs::CWD,
                        root.join("link"),
                        rustix::fs::RenameFlags::EXCHANGE,
                    )
                    .unwrap();
                }
            });
            let _stop = SetOnDrop(&stop);
            for _ in 0..5_000 {
                match get(&tree, "/swapped/file") {
                    Ok(content) => assert_eq!(content, b"inside"),
                    Err(error) => assert_eq!(error, StorageError::Refused),
                }
                let uploaded = put(&tree, "/swapped/new", b"x");
                assert!(matches!(
                    uploaded,
                    Ok(_) | Err(StorageError::Refused | StorageError::NotFound | StorageError::ParentMissing)
                ));
            }
        });
        assert!(!world.path().join("outer/new").exists());
    }
}

#[test]
fn names_that_are_not_utf8_come_back_as_they_are() {
    let world = world();
    let tree = tree(&root(&world));
    let name = b"caf\xe9 \xff%2F\n";
    let at = DavPath::root().join(name).unwrap();
    assert_eq!(DavPath::parse(at.href(false).as_bytes(), &PathLimits::default()).unwrap().path, at);
    put(&tree, &at.href(false), b"x").unwrap();
    assert!(root(&world).join(OsStr::from_bytes(name)).exists());
    let mut listing = tree.list(&path("/")).unwrap();
    assert!(listing.next_batch(10).unwrap().iter().any(|entry| entry.name == name));
}

#[test]
fn what_is_neither_file_nor_directory_is_refused_at_once() {
    let world = world();
    let root = root(&world);
    let fifo = std::process::Command::new("mkfifo").arg(root.join("fifo")).status().unwrap();
    assert!(fifo.success());
    let _socket = std::os::unix::net::UnixListener::bind(root.join("socket")).unwrap();
    let tree = tree(&root);
    for special in ["/fifo", "/socket"] {
        assert_eq!(get(&tree, special), Err(StorageError::Refused), "{special}");
        assert_eq!(tree.metadata(&path(special)).unwrap_err(), StorageError::Refused, "{special}");
    }
    let names: Vec<_> = tree.list(&path("/")).unwrap().next_batch(10).unwrap();
    assert_eq!(names.len(), 1);
}

#[test]
fn weirs_own_names_are_out_of_reach() {
    let world = world();
    let tree = tree(&root(&world));
    for reserved in ["/.weir-store", "/.weir-store/locks.json", "/inner/.weir-tmp~x", "/.WEIR-notes/a"] {
        assert_eq!(tree.metadata(&path(reserved)).unwrap_err(), StorageError::Refused, "{reserved}");
        assert_eq!(put(&tree, reserved, b"").unwrap_err(), StorageError::Refused, "{reserved}");
    }
    assert!(Path::new(&root(&world)).exists());
}

#[test]
fn a_file_is_no_directory() {
    let world = world();
    let tree = tree(&root(&world));
    assert_eq!(get(&tree, "/inner/file/x"), Err(StorageError::NotFound));
    assert_eq!(get(&tree, "/inner"), Err(StorageError::IsDirectory));
    assert_eq!(tree.list(&path("/inner/file")).unwrap_err(), StorageError::NotDirectory);
    assert_eq!(put(&tree, "/inner/file/x", b"").unwrap_err(), StorageError::ParentMissing);
    assert_eq!(put(&tree, "/none/x", b"").unwrap_err(), StorageError::ParentMissing);
    assert_eq!(put(&tree, "/inner", b"").unwrap_err(), StorageError::IsDirectory);
}
