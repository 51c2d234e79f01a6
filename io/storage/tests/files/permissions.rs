//! Tests of the permissions of files after an upload, a copy or a move.

use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::path::Path;
use std::time::{Duration, SystemTime};

use rustix::fs::{XattrFlags, getxattr, setxattr};
use weir_storage::{CopyOptions, Durability, Partial, PartialId, PartialState, StartedFrom, Tree, Upload};

use crate::mounts::Mount;
use crate::properties::{fragment, set};
use crate::support::*;

const ACCESS: &str = "system.posix_acl_access";
const INHERITED: &str = "system.posix_acl_default";
const DEEP: CopyOptions = CopyOptions { deep: true, overwrite: true, durability: Durability::None };

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().mode() & 0o7777
}

/// Returns the mode of a new file in this directory.
fn usual(directory: &Path) -> u32 {
    fs::write(directory.join("usual"), "").unwrap();
    mode(&directory.join("usual")) & 0o644
}

/// Returns an ACL that gives user 4242 the rights `user`, and its group and others none (acl(5), in the
/// kernel's format).
fn list(user: u8) -> Vec<u8> {
    let none = [255; 4];
    let entry = |tag: u8, may: u8, id: [u8; 4]| [&[tag, 0, may, 0][..], &id].concat();
    [
        vec![2, 0, 0, 0],
        entry(0x01, 6, none),
        entry(0x02, user, 4242_u32.to_le_bytes()),
        entry(0x04, 0, none),
        entry(0x10, user, none),
        entry(0x20, 0, none),
    ]
    .concat()
}

fn set_list(path: &Path, attribute: &str, acl: &[u8]) {
    setxattr(path, attribute, acl, XattrFlags::empty()).unwrap();
}

/// Returns whether the file system supports ACLs.
fn has_lists(directory: &Path) -> bool {
    fs::write(directory.join("listed"), "").unwrap();
    match setxattr(directory.join("listed"), ACCESS, &list(4), XattrFlags::empty()) {
        Err(rustix::io::Errno::OPNOTSUPP) => {
            weir_testkit::untested("no access lists on this file system");
            false
        }
        set => {
            set.unwrap();
            true
        }
    }
}

fn list_of(path: &Path, attribute: &str) -> Option<Vec<u8>> {
    let mut value = vec![0; 10_000];
    let bytes = getxattr(path, attribute, &mut value[..]).ok()?;
    value.truncate(bytes);
    Some(value)
}

/// Returns the only leftover in a directory.
fn temporary(root: &Path) -> std::path::PathBuf {
    let names = temporaries(root);
    assert_eq!(names.len(), 1, "{names:?}");
    root.join(&names[0])
}

#[test]
fn a_file_that_replaces_another_is_for_nobody_else_from_its_first_byte_on() {
    let directory = tempfile::tempdir().unwrap();
    let (root, tree) = (directory.path(), tree(directory.path()));
    for private in [0o600, 0o640, 0o400, 0o666] {
        let file = root.join("f");
        let _ = fs::remove_file(&file);
        fs::write(&file, "old").unwrap();
        set_mode(&file, private);
        let mut upload = Upload::begin(&tree, &disk(), &path("/f"), &[], None).unwrap();
        upload.write(b"new").unwrap();
        assert_eq!(mode(&temporary(root)), 0o600);
        upload.commit(COMMIT).unwrap();
        assert_eq!((mode(&file), fs::read(&file).unwrap()), (private, b"new".to_vec()));
    }
    let usual = usual(root);
    put(&tree, "/new", b"1").unwrap();
    assert_eq!(mode(&root.join("new")), usual);
}

#[test]
fn permissions_that_change_while_a_file_comes_are_the_later_ones() {
    let directory = tempfile::tempdir().unwrap();
    let (root, tree) = (directory.path(), tree(directory.path()));
    let file = root.join("f");
    put(&tree, "/f", b"1").unwrap();
    let mut prepared =
        Upload::begin(&tree, &disk(), &path("/f"), &[], None).unwrap().prepare(COMMIT).unwrap();
    set_mode(&file, 0o600);
    prepared.publish().unwrap();
    assert_eq!(mode(&file), 0o600);
    // The file existed when the upload began, and was removed before its end.
    let upload = Upload::begin(&tree, &disk(), &path("/f"), &[], None).unwrap();
    fs::remove_file(&file).unwrap();
    upload.commit(COMMIT).unwrap();
    assert_eq!(mode(&file), usual(root));
    assert!(temporaries(root).is_empty());
}

#[test]
fn an_upload_in_several_requests_is_private_until_it_is_complete() {
    let directory = tempfile::tempdir().unwrap();
    let (root, tree) = (directory.path(), tree(directory.path()));
    let usual = usual(root);
    fs::write(root.join("old"), "old").unwrap();
    set_mode(&root.join("old"), 0o640);
    for (number, at, after) in [(1, "/new", usual), (2, "/old", 0o640)] {
        let id = PartialId::new([number; 16]);
        let state = PartialState::new(&path(at), "ada".to_owned(), StartedFrom::Anything, u64::MAX);
        let partial = Partial::create(&tree, id, state).unwrap();
        let part =
            root.join(raw_names(root).into_iter().find(|name| name.contains(&id.to_string())).unwrap());
        assert_eq!(mode(&part), 0o600);
        let mut upload = Upload::resume(partial, &[]).unwrap();
        upload.write(b"new").unwrap();
        upload.commit(COMMIT).unwrap();
        assert_eq!(mode(&root.join(&at[1..])), after, "{at}");
    }
}

#[test]
fn lists_of_who_may_what_stay_with_a_file_that_is_replaced_and_go_along_with_a_copy() {
    let directory = tempfile::tempdir().unwrap();
    let (root, tree) = (directory.path(), tree(directory.path()));
    if !has_lists(root) {
        return;
    }
    let file = root.join("f");
    put(&tree, "/f", b"1").unwrap();
    set_list(&file, ACCESS, &list(4));
    put(&tree, "/f", b"2").unwrap();
    assert_eq!(list_of(&file, ACCESS), Some(list(4)));
    assert_eq!(mode(&file), 0o640);
    copy(&tree, "/f", "/g");
    assert_eq!(list_of(&root.join("g"), ACCESS), Some(list(4)));

    // The ACL that a directory passes on applies to new members only.
    fs::create_dir(root.join("d")).unwrap();
    fs::write(root.join("d/private"), "1").unwrap();
    set_mode(&root.join("d/private"), 0o600);
    set_list(&root.join("d"), INHERITED, &list(6));
    put(&tree, "/d/private", b"2").unwrap();
    assert_eq!((mode(&root.join("d/private")), list_of(&root.join("d/private"), ACCESS)), (0o600, None));
    put(&tree, "/d/new", b"2").unwrap();
    assert_eq!(mode(&root.join("d/new")), 0o640);
    assert!(list_of(&root.join("d/new"), ACCESS).is_some());
}

#[test]
fn lists_and_properties_that_do_not_fit_together_both_stay() {
    let directory = tempfile::tempdir().unwrap();
    let (root, tree) = (directory.path(), tree(directory.path()));
    if !has_lists(root) {
        return;
    }
    // With this many users, an ACL takes half a kilobyte.
    let users: Vec<u8> =
        (5000..5060_u32).flat_map(|user| [&[2, 0, 4, 0][..], &user.to_le_bytes()].concat()).collect();
    // The users go after the version, the owner and the first user.
    let short = list(4);
    let long = [&short[..20], &users, &short[20..]].concat();
    fs::create_dir(root.join("d")).unwrap();
    // Some file systems have room for 4 KB of attributes. A property of some of these sizes fits only without
    // the ACL.
    for size in (2_000..6_000).step_by(200) {
        let at = |name: &str| format!("{name}-{size}");
        for name in ["/f", "/d/e"] {
            let file = at(name);
            match name {
                "/f" => drop(put(&tree, &file, b"1").unwrap()),
                _ => tree.create_directory(&path(&file), Durability::None).unwrap(),
            }
            set_list(&root.join(&file[1..]), ACCESS, &long);
            set(&tree, &file, "long", &"x".repeat(size));
        }
        put(&tree, &at("/f"), b"2").unwrap();
        copy(&tree, &at("/f"), &at("/g"));
        copy(&tree, &at("/d/e"), &at("/d/c"));
        for name in ["/f", "/g", "/d/e", "/d/c"] {
            let file = at(name);
            assert_eq!(list_of(&root.join(&file[1..]), ACCESS), Some(long.clone()), "{file}");
            let [property] = &tree.properties(&path(&file)).unwrap()[..] else { panic!("{file}") };
            assert_eq!(*property, fragment("long", &"x".repeat(size)), "{file}");
        }
        assert_eq!(get(&tree, &at("/g")).unwrap(), b"2");
    }
}

fn copy(tree: &std::sync::Arc<Tree>, from: &str, to: &str) {
    tree.copy(&path(from), &path(to), DEEP, &mut |_, _| true, &GO_ON).unwrap();
}

#[test]
fn a_copy_on_its_way_is_for_nobody_where_a_list_says_who_may() {
    let directory = tempfile::tempdir().unwrap();
    let (root, tree) = (directory.path(), tree(directory.path()));
    if !has_lists(root) {
        return;
    }
    fs::create_dir_all(root.join("a/b")).unwrap();
    set_list(&root.join("a"), ACCESS, &list(6));
    let mut seen = 0;
    let mut look = |_: &weir_dav::path::DavPath, _| {
        // The group bits of a file with an ACL are the mask for all its entries.
        assert_eq!((mode(&root.join("a")) & 0o070, mode(&temporary(root)) & 0o077), (0o060, 0));
        seen += 1;
        true
    };
    tree.copy(&path("/a"), &path("/c"), DEEP, &mut look, &GO_ON).unwrap();
    assert_eq!((seen, list_of(&root.join("c"), ACCESS)), (1, Some(list(6))));
}

#[test]
fn what_replaces_a_link_to_a_directory_is_a_file_like_any_other() {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path();
    let tree = tree_with(root, weir_storage::SymlinkPolicy::InsideRoot);
    fs::create_dir(root.join("d")).unwrap();
    set_mode(&root.join("d"), 0o2775);
    put(&tree, "/f", b"1").unwrap();
    let upload = Upload::begin(&tree, &disk(), &path("/f"), &[], None).unwrap();
    fs::remove_file(root.join("f")).unwrap();
    std::os::unix::fs::symlink("d", root.join("f")).unwrap();
    upload.commit(COMMIT).unwrap();
    assert_eq!(mode(&root.join("f")), usual(root));
    assert!(root.join("f").is_file() && mode(&root.join("d")) == 0o2775);
}

#[test]
fn owner_group_and_list_are_those_of_what_was_replaced() {
    let directory = tempfile::tempdir().unwrap();
    let (root, tree) = (directory.path(), tree(directory.path()));
    if !has_lists(root) || !rustix::process::geteuid().is_root() {
        return weir_testkit::untested("needs root, and access lists");
    }
    fs::write(root.join("f"), "old").unwrap();
    chown(root.join("f"), Some(4243), Some(4244)).unwrap();
    set_list(&root.join("f"), ACCESS, &list(6));
    let mut upload = Upload::begin(&tree, &disk(), &path("/f"), &[], None).unwrap();
    upload.write(b"new").unwrap();
    upload.commit(COMMIT).unwrap();
    let file = fs::metadata(root.join("f")).unwrap();
    assert_eq!((file.uid(), file.gid(), list_of(&root.join("f"), ACCESS)), (4243, 4244, Some(list(6))));
    assert_eq!(file.mode() & 0o777, 0o660, "whoever is in the list still gets in");
}

#[test]
fn a_copy_has_no_more_bits_than_its_source() {
    let directory = tempfile::tempdir().unwrap();
    let (root, tree) = (directory.path(), tree(directory.path()));
    fs::create_dir_all(root.join("a/b")).unwrap();
    for (name, mode) in
        [("a/private", 0o600), ("a/b/read-only", 0o400), ("a/open", 0o644), ("a/b", 0o700), ("a", 0o750)]
    {
        if !root.join(name).exists() {
            fs::write(root.join(name), "x").unwrap();
        }
        set_mode(&root.join(name), mode);
    }
    fs::create_dir(root.join("shared")).unwrap();
    if has_lists(root) {
        set_list(&root.join("shared"), INHERITED, &list(6));
    }
    for to in ["/c", "/shared/c"] {
        copy(&tree, "/a", to);
        let copied = root.join(&to[1..]);
        assert_eq!(mode(&copied.join("private")) & 0o077, 0, "{to}");
        assert_eq!(mode(&copied.join("b/read-only")), 0o400, "{to}");
        assert_eq!(mode(&copied.join("b")) & 0o077, 0, "{to}");
        assert_eq!(mode(&copied) & 0o007, 0, "{to}");
    }
    assert_eq!(mode(&root.join("c/open")), usual(root));
    copy(&tree, "/a/private", "/c/open");
    assert_eq!(mode(&root.join("c/open")), 0o600);
}

#[test]
fn a_move_to_another_file_system_takes_owner_permissions_and_times_along() {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path();
    let Some(_mount) = Mount::new(&root.join("far"), "tmpfs", "size=4m") else { return };
    let tree = tree(root);
    fs::create_dir_all(root.join("a/b")).unwrap();
    fs::write(root.join("a/f"), "content").unwrap();
    fs::write(root.join("a/b/list"), "content").unwrap();
    set_list(&root.join("a/b/list"), ACCESS, &list(4));
    set_list(&root.join("a/b"), INHERITED, &list(6));
    chown(root.join("a/f"), Some(4243), Some(4244)).unwrap();
    chown(root.join("a/b"), Some(4243), Some(4244)).unwrap();
    set_mode(&root.join("a/f"), 0o640);
    set_mode(&root.join("a/b"), 0o2770);
    let then = SystemTime::UNIX_EPOCH + Duration::new(1_000_000_000, 7);
    fs::File::open(root.join("a/f")).unwrap().set_modified(then).unwrap();
    tree.checksums(&path("/a/f"), &tree.open(&path("/a/f")).unwrap()).unwrap();
    tree.rename(&path("/a"), &path("/far/a"), false, Durability::None, &GO_ON).unwrap();

    let far = root.join("far/a");
    let file = fs::metadata(far.join("f")).unwrap();
    assert_eq!((file.uid(), file.gid(), file.mode() & 0o7777), (4243, 4244, 0o640));
    assert_eq!(file.modified().unwrap(), then);
    let inner = fs::metadata(far.join("b")).unwrap();
    assert_eq!((inner.uid(), inner.gid(), inner.mode() & 0o7777), (4243, 4244, 0o2770));
    assert_eq!(list_of(&far.join("b"), INHERITED), Some(list(6)));
    assert_eq!(list_of(&far.join("b/list"), ACCESS), Some(list(4)));
    assert_eq!(get(&tree, "/far/a/f").unwrap(), b"content");
}
