//! Tests that need file systems of their own. Only root can mount them; without that right, the tests report
//! it and end.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, UNIX_EPOCH};

use weir_dav::digest::Algorithm;
use weir_storage::{CopyOptions, Disk, Durability, StorageError, Transferred, Tree, Upload};

use crate::properties::{properties_follow_their_resource, set, values};
use crate::support::*;

/// A file system that is mounted at `path` until this is dropped.
pub(crate) struct Mount {
    pub(crate) path: PathBuf,
}

impl Mount {
    pub(crate) fn new(path: &Path, kind: &str, options: &str) -> Option<Self> {
        fs::create_dir_all(path).unwrap();
        let mount =
            Command::new("mount").args(["-t", kind, "-o", options, "none"]).arg(path).output().unwrap();
        if !mount.status.success() {
            let told = String::from_utf8_lossy(&mount.stderr);
            weir_testkit::untested(format_args!("no right to mount: {told}"));
            return None;
        }
        Some(Self { path: path.to_owned() })
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(&self.path).status();
    }
}

fn write_megabytes(
    tree: &Arc<Tree>,
    at: &str,
    megabytes: usize,
    length: Option<u64>,
) -> Result<(), StorageError> {
    let disk = Disk::new("one", 1, 9);
    let written =
        Upload::begin(tree, &disk, &path(at), &[Algorithm::Adler32], length).and_then(|mut upload| {
            for _ in 0..megabytes {
                upload.write(&vec![b'x'; 1 << 20])?;
            }
            upload.commit(COMMIT).map(|_| ())
        });
    // Waits until the failed upload has freed its space.
    settle(&disk);
    written
}

#[test]
fn a_full_disk_is_told_from_other_errors_and_loses_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let Some(mount) = Mount::new(&directory.path().join("small"), "tmpfs", "size=4m") else { return };
    let tree = tree(&mount.path);
    put(&tree, "/f", b"old").unwrap();
    // The error occurs at once if the length is known, and otherwise while bytes arrive.
    assert_eq!(write_megabytes(&tree, "/f", 8, None), Err(StorageError::Full));
    assert_eq!(write_megabytes(&tree, "/f", 0, Some(8 << 20)), Err(StorageError::Full));
    assert_eq!(get(&tree, "/f").unwrap(), b"old");
    write_megabytes(&tree, "/big", 2, None).unwrap();
    let options = CopyOptions { deep: true, overwrite: true, durability: Durability::None };
    tree.create_directory(&path("/d"), Durability::None).unwrap();
    tree.rename(&path("/big"), &path("/d/big"), false, Durability::None, &GO_ON).unwrap();
    let failure = tree.copy(&path("/d"), &path("/f"), options, &mut |_, _| true, &GO_ON).unwrap_err();
    assert_eq!(failure.error, StorageError::Full);
    assert_eq!(get(&tree, "/f").unwrap(), b"old");
    assert!(tree.usage(&path("/")).unwrap().available < 3 << 20);
}

#[test]
fn copies_and_moves_go_across_file_systems() {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path();
    let Some(_mount) = Mount::new(&root.join("other"), "tmpfs", "size=16m") else { return };
    let tree = tree(root);
    for file in ["/f", "/kept"] {
        put(&tree, file, b"content").unwrap();
    }
    set(&tree, "/f", "p", "1");
    tree.create_directory(&path("/d"), Durability::None).unwrap();
    put(&tree, "/d/inner", b"inner").unwrap();
    let created = Ok(Transferred { created: true });
    assert_eq!(tree.rename(&path("/f"), &path("/other/f"), false, Durability::Full, &GO_ON), created);
    assert_eq!(tree.rename(&path("/d"), &path("/other/d"), false, Durability::Full, &GO_ON), created);
    assert_eq!(get(&tree, "/other/f").unwrap(), b"content");
    assert_eq!(get(&tree, "/other/d/inner").unwrap(), b"inner");
    assert_eq!(values(&tree, "/other/f"), ["p"]);
    assert_eq!(tree.metadata(&path("/f")).unwrap_err(), StorageError::NotFound);
    assert_eq!(tree.metadata(&path("/d")).unwrap_err(), StorageError::NotFound);
    // Moves back over existing entries: a file over a file, then a directory over a file.
    for (from, to) in [("/other/f", "/kept"), ("/other/d", "/kept")] {
        let moved = tree.rename(&path(from), &path(to), true, Durability::Full, &GO_ON);
        assert_eq!(moved, Ok(Transferred { created: false }), "{from}");
    }
    assert_eq!(get(&tree, "/kept/inner").unwrap(), b"inner");
    assert!(temporaries(root).is_empty());
    // The mount point itself cannot be removed.
    assert!(tree.remove(&path("/other"), Durability::None).is_err());
}

#[test]
fn without_extended_attributes_a_side_store_keeps_properties_and_checksums() {
    let directory = tempfile::tempdir().unwrap();
    let Some(mount) = Mount::new(&directory.path().join("plain"), "ramfs", "mode=755") else { return };
    properties_follow_their_resource(&mount.path);
    assert!(raw_names(&mount.path).contains(&".weir-notes".to_owned()));
    let tree = tree(&mount.path);
    put(&tree, "/sum", b"abc").unwrap();
    let stored = |at: &str| tree.checksums(&path(at), &tree.open(&path(at)).unwrap()).unwrap();
    assert_eq!(stored("/sum")[0].to_hex(), "024d0127");
    tree.rename(&path("/sum"), &path("/e/sum"), false, Durability::None, &GO_ON).unwrap();
    assert_eq!(stored("/e/sum")[0].to_hex(), "024d0127");
    fs::write(mount.path.join("e/sum"), "changed").unwrap();
    assert!(stored("/e/sum").is_empty());
}

#[test]
fn checksums_for_which_there_is_no_room_are_computed_all_the_same() {
    let directory = tempfile::tempdir().unwrap();
    // Attributes use the space for inodes, and so does the directory of a side store.
    let Some(mount) = Mount::new(&directory.path().join("small"), "tmpfs", "size=4m,nr_inodes=16") else {
        return;
    };
    let tree = tree(&mount.path);
    fs::write(mount.path.join("f"), "abc").unwrap();
    let long_ago = UNIX_EPOCH + Duration::from_secs(1);
    fs::File::open(mount.path.join("f")).unwrap().set_modified(long_ago).unwrap();
    let full = (0..100).find_map(|number| fs::write(mount.path.join(format!("{number}")), "").err());
    assert_eq!(full.map(|error| error.kind()), Some(ErrorKind::StorageFull));
    let file = tree.open(&path("/f")).unwrap();
    let computed = tree.compute_checksums(&path("/f"), &file, &[Algorithm::Adler32], &GO_ON).unwrap();
    assert_eq!(computed[0].to_hex(), "024d0127");
    assert!(tree.checksums(&path("/f"), &file).unwrap().is_empty());
}

#[test]
fn a_move_to_another_file_system_takes_nothing_that_it_cannot_take_along() {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path();
    let Some(_mount) = Mount::new(&root.join("other"), "tmpfs", "size=16m") else { return };
    let tree = tree(root);
    tree.create_directory(&path("/d"), Durability::None).unwrap();
    put(&tree, "/d/inner", b"inner").unwrap();
    std::os::unix::fs::symlink("inner", root.join("d/link")).unwrap();
    let failure = tree.rename(&path("/d"), &path("/other/d"), false, Durability::None, &GO_ON).unwrap_err();
    assert_eq!((failure.path, failure.error), (path("/d/link"), StorageError::Refused));
    assert_eq!(get(&tree, "/d/inner").unwrap(), b"inner");
    assert!(root.join("d/link").is_symlink() && !root.join("other/d").exists());
    assert!(temporaries(root).is_empty());
}

#[test]
fn what_goes_to_another_file_system_is_what_its_move_was_judged_by() {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path();
    let Some(_mount) = Mount::new(&root.join("other"), "tmpfs", "size=16m") else { return };
    let tree = tree(root);
    put(&tree, "/f", b"first").unwrap();
    let options = CopyOptions { deep: true, overwrite: false, durability: Durability::None };
    let mut judged = None;
    let moved = tree.rename_through(&path("/f"), &path("/other/f"), options, &GO_ON, &mut |step, moving| {
        let Some(moving) = moving else {
            // A rename to the other file system fails. Another program replaces the file after the gate has
            // accepted it.
            let done = step();
            fs::write(root.join("next"), "second").unwrap();
            fs::rename(root.join("next"), root.join("f")).unwrap();
            return done;
        };
        assert_eq!(tree.metadata(&path("/f")), Err(StorageError::NotFound));
        assert_eq!(moving.metadata(&path("/f")), Some(Ok(*moving.source())));
        assert_eq!(moving.metadata(&path("/other")), None);
        judged = Some(moving.source().version());
        Err(StorageError::Changed)
    });
    assert_eq!(moved.map_err(|failure| failure.error), Err(StorageError::Changed));
    assert_eq!(judged, Some(tree.metadata(&path("/f")).unwrap().version()));
    assert_eq!(get(&tree, "/f").unwrap(), b"second");
    assert_eq!(tree.metadata(&path("/other/f")), Err(StorageError::NotFound));
    assert!(temporaries(root).is_empty());

    tree.create_directory(&path("/d"), Durability::None).unwrap();
    put(&tree, "/d/inner", b"inner").unwrap();
    let inner = tree.metadata(&path("/d/inner")).unwrap();
    let moved = tree.rename_through(&path("/d"), &path("/other/d"), options, &GO_ON, &mut |step, moving| {
        if let Some(moving) = moving {
            assert!(moving.source().is_directory());
            assert_eq!(moving.metadata(&path("/d/inner")), Some(Ok(inner)));
            assert_eq!(moving.metadata(&path("/d/none")), Some(Err(StorageError::NotFound)));
        }
        step()
    });
    assert_eq!(moved, Ok(Transferred { created: true }));
    assert_eq!(get(&tree, "/other/d/inner").unwrap(), b"inner");
}

#[test]
fn a_directory_is_not_moved_into_itself_by_way_of_a_second_mount() {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path();
    fs::create_dir_all(root.join("a/b")).unwrap();
    fs::write(root.join("a/f"), "kept").unwrap();
    fs::create_dir(root.join("again")).unwrap();
    let bound =
        Command::new("mount").arg("--bind").arg(root.join("a")).arg(root.join("again")).output().unwrap();
    if !bound.status.success() {
        return weir_testkit::untested("no right to mount");
    }
    let _mount = Mount { path: root.join("again") };
    let tree = tree(root);
    let rename = |from: &str, to: &str| {
        let renamed = tree.rename(&path(from), &path(to), true, Durability::None, &GO_ON);
        renamed.map_err(|failure| failure.error)
    };
    for (from, to) in [("/a/f", "/again/f"), ("/a/b", "/again/b"), ("/a", "/again/c"), ("/a", "/again/b/c")] {
        assert!(rename(from, to).is_err(), "{from} {to}");
        assert_eq!(get(&tree, "/a/f").unwrap(), b"kept", "{from} {to}");
    }
    // A move of a file to another directory works.
    assert_eq!(rename("/a/f", "/again/b/f"), Ok(Transferred { created: true }));
    assert_eq!(get(&tree, "/a/b/f").unwrap(), b"kept");
    assert!(temporaries(root).is_empty());
}

#[test]
fn properties_set_aside_while_a_file_is_replaced_are_kept() {
    let directory = tempfile::tempdir().unwrap();
    let Some(mount) = Mount::new(&directory.path().join("plain"), "ramfs", "mode=755") else { return };
    let tree = tree(&mount.path);
    put(&tree, "/f", b"old").unwrap();
    let mut upload = Upload::begin(&tree, &Disk::new("one", 1, 9), &path("/f"), &[], None).unwrap();
    upload.write(b"new").unwrap();
    let mut prepared = upload.prepare(COMMIT).unwrap();
    set(&tree, "/f", "p", "1");
    prepared.publish().unwrap();
    prepared.finish().unwrap();
    assert_eq!(values(&tree, "/f"), ["p"]);
    assert_eq!(get(&tree, "/f").unwrap(), b"new");
}

#[test]
fn a_directory_that_holds_a_mount_point_is_neither_removed_nor_replaced_nor_moved() {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path();
    fs::create_dir_all(root.join("d/sub")).unwrap();
    fs::write(root.join("d/first"), "kept").unwrap();
    // /proc/self/mountinfo escapes this name.
    let Some(mount) = Mount::new(&root.join("d/sub/mounted here"), "tmpfs", "size=16m") else { return };
    let Some(_elsewhere) = Mount::new(&root.join("elsewhere"), "tmpfs", "size=16m") else { return };
    fs::write(mount.path.join("inner"), "kept").unwrap();
    fs::create_dir(root.join("e")).unwrap();
    let tree = tree(root);
    let options = CopyOptions { deep: true, overwrite: true, durability: Durability::None };
    let rename = |from: &str, to: &str| {
        tree.rename(&path(from), &path(to), true, Durability::None, &GO_ON).map(|_| ())
    };
    let copy = |from: &str, to: &str| {
        tree.copy(&path(from), &path(to), options, &mut |_, _| true, &GO_ON).map(|_| ())
    };
    let in_d = "/d/sub/mounted%20here";
    let cases = [
        (tree.remove(&path("/d"), Durability::None), in_d),
        (tree.remove(&path("/d/sub"), Durability::None), in_d),
        (tree.remove(&path(in_d), Durability::None), in_d),
        (rename("/d", "/moved"), in_d),
        (rename("/d", "/elsewhere/moved"), in_d),
        (rename(in_d, "/moved"), in_d),
        (rename("/e", "/d"), in_d),
        (copy("/e", "/d"), in_d),
        (copy("/e", in_d), in_d),
        // A mounted file system can be read and copied as a part of its directory.
        (copy("/d", "/elsewhere"), "/elsewhere"),
    ];
    for (number, (done, at)) in cases.into_iter().enumerate() {
        let failure = done.unwrap_err();
        assert_eq!((failure.path, failure.error), (path(at), StorageError::Mounted), "case {number}");
        assert_eq!(get(&tree, "/d/first").unwrap(), b"kept", "case {number}");
        assert_eq!(get(&tree, "/d/sub/mounted%20here/inner").unwrap(), b"kept", "case {number}");
    }
    assert!(temporaries(root).is_empty());
    copy("/d", "/copy").unwrap();
    tree.remove(&path("/copy"), Durability::None).unwrap();
    // Inside of the mounted file system, everything works as usual.
    tree.create_directory(&path("/d/sub/mounted%20here/x"), Durability::None).unwrap();
    tree.remove(&path("/d/sub/mounted%20here/x"), Durability::None).unwrap();
}

#[test]
fn a_part_of_the_same_file_system_that_is_mounted_again_is_a_mount_point_too() {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path();
    fs::create_dir_all(root.join("d/again")).unwrap();
    fs::create_dir(root.join("a")).unwrap();
    fs::write(root.join("a/f"), "kept").unwrap();
    fs::write(root.join("d/file"), "").unwrap();
    let bind = |from: &str, to: &str| {
        let bound = Command::new("mount").arg("--bind").arg(root.join(from)).arg(root.join(to)).output();
        bound.unwrap().status.success().then(|| Mount { path: root.join(to) })
    };
    let Some(mount) = bind("a", "d/again") else { return weir_testkit::untested("no right to mount") };
    let tree = tree(root);
    let failure = tree.remove(&path("/d"), Durability::None).unwrap_err();
    assert_eq!((failure.path, failure.error), (path("/d/again"), StorageError::Mounted));
    assert_eq!(get(&tree, "/a/f").unwrap(), b"kept");
    drop(mount);
    let _file = bind("a/f", "d/file").unwrap();
    let failure = tree.remove(&path("/d"), Durability::None).unwrap_err();
    assert_eq!((failure.path, failure.error), (path("/d/file"), StorageError::Mounted));
    let failure = tree.remove(&path("/d/file"), Durability::None).unwrap_err();
    assert_eq!((failure.path, failure.error), (path("/d/file"), StorageError::Mounted));
    assert!(root.join("d/again").exists());
}

#[test]
fn a_tree_that_is_idle_can_be_remounted_read_only() {
    let directory = tempfile::tempdir().unwrap();
    let Some(mount) = Mount::new(&directory.path().join("disk"), "tmpfs", "size=16m") else { return };
    let tree = tree(&mount.path);
    put(&tree, "/f", b"content").unwrap();
    tree.create_directory(&path("/d"), Durability::None).unwrap();
    put(&tree, "/d/f", b"content").unwrap();
    tree.remove(&path("/d"), Durability::None).unwrap();
    tree.share_usage().unwrap();
    let locks = weir_storage::LockStore::new(std::sync::Arc::clone(&tree));
    locks.update(|table| table.break_locks(|_| true)).unwrap();
    let remount = |how: &str| {
        let done = Command::new("mount").args(["-o", &format!("remount,{how}")]).arg(&mount.path).output();
        let done = done.unwrap();
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    };
    remount("ro");
    assert_eq!(get(&tree, "/f").unwrap(), b"content");
    assert_eq!(put(&tree, "/f", b"new").err(), Some(StorageError::Refused));
    assert_eq!(tree.require_changeable(&path("/f")), Err(StorageError::Refused));
    remount("rw");
    put(&tree, "/f", b"new").unwrap();
    assert_eq!(get(&tree, "/f").unwrap(), b"new");
}
