//! Tests of dead properties.

use weir_dav::xml::{Fragment, PropName, PropertyUpdate, XmlLimits};
use weir_storage::{CopyOptions, Durability, Tree};

use crate::support::*;

pub(crate) fn fragment(name: &str, value: &str) -> Fragment {
    let limits = XmlLimits::default();
    Fragment::parse(&format!("<x:{name} xmlns:x=\"urn:x\">{value}</x:{name}>"), &limits).unwrap()
}

pub(crate) fn set(tree: &std::sync::Arc<Tree>, at: &str, name: &str, value: &str) {
    let update = PropertyUpdate::Set(fragment(name, value));
    tree.update_properties(&path(at), &[update], Durability::Full).unwrap();
}

pub(crate) fn values(tree: &Tree, at: &str) -> Vec<String> {
    let read = tree.properties(&path(at)).unwrap();
    read.iter().map(|property| property.name().local().to_owned()).collect()
}

/// Tests that properties stay with their files and directories, on the file system at `root`.
pub(crate) fn properties_follow_their_resource(root: &std::path::Path) {
    let tree = tree(root);
    put(&tree, "/f", b"1").unwrap();
    tree.create_directory(&path("/d"), Durability::None).unwrap();
    set(&tree, "/f", "a", "1");
    set(&tree, "/f", "b", "2");
    set(&tree, "/f", "a", "changed");
    assert_eq!(tree.properties(&path("/f")).unwrap(), [fragment("a", "changed"), fragment("b", "2")]);
    let gone = PropertyUpdate::Remove(PropName::new("urn:x", "a").unwrap());
    tree.update_properties(&path("/f"), &[gone], Durability::None).unwrap();
    assert_eq!(values(&tree, "/f"), ["b"]);
    set(&tree, "/d", "of-directory", "1");
    set(&tree, "/", "of-root", "1");

    // Properties survive a new content, a move and a copy.
    put(&tree, "/f", b"2").unwrap();
    assert_eq!(values(&tree, "/f"), ["b"]);
    tree.rename(&path("/f"), &path("/d/g"), false, Durability::None, &GO_ON).unwrap();
    assert_eq!(values(&tree, "/d/g"), ["b"]);
    tree.rename(&path("/d"), &path("/e"), false, Durability::None, &GO_ON).unwrap();
    assert_eq!(values(&tree, "/e/g"), ["b"]);
    let deep = CopyOptions { deep: true, overwrite: false, durability: Durability::None };
    tree.copy(&path("/e"), &path("/d"), deep, &mut |_, _| true, &GO_ON).unwrap();
    for directory in ["/d", "/e"] {
        assert_eq!(values(&tree, directory), ["of-directory"]);
        assert_eq!(values(&tree, &format!("{directory}/g")), ["b"]);
    }
    assert_eq!(values(&tree, "/"), ["of-root"]);

    // A new file does not get the properties of a removed one with its name.
    tree.remove(&path("/d/g"), Durability::None).unwrap();
    put(&tree, "/d/g", b"3").unwrap();
    assert!(values(&tree, "/d/g").is_empty());
    let mut listing = tree.list(&path("/d")).unwrap();
    assert_eq!(listing.next_batch(10).unwrap().len(), 1);
}

#[test]
fn properties_follow_their_resource_in_extended_attributes() {
    let directory = tempfile::tempdir().unwrap();
    properties_follow_their_resource(directory.path());
    assert!(
        !raw_names(directory.path()).contains(&".weir-notes".to_owned()),
        "{:?}",
        raw_names(directory.path())
    );
}

#[test]
fn values_that_are_too_large_for_attributes_are_kept_as_well() {
    let directory = tempfile::tempdir().unwrap();
    let tree = tree(directory.path());
    put(&tree, "/f", b"1").unwrap();
    set(&tree, "/f", "small", "x");
    let large = "y".repeat(200_000);
    set(&tree, "/f", "large", &large);
    assert_eq!(tree.properties(&path("/f")).unwrap(), [fragment("small", "x"), fragment("large", &large)]);
    tree.rename(&path("/f"), &path("/g"), false, Durability::None, &GO_ON).unwrap();
    assert_eq!(values(&tree, "/g"), ["small", "large"]);
    let gone = PropertyUpdate::Remove(PropName::new("urn:x", "large").unwrap());
    tree.update_properties(&path("/g"), &[gone], Durability::None).unwrap();
    assert_eq!(values(&tree, "/g"), ["small"]);
}

#[test]
fn properties_that_are_set_while_an_upload_ends_are_kept() {
    let directory = tempfile::tempdir().unwrap();
    let tree = tree(directory.path());
    put(&tree, "/f", b"old").unwrap();
    set(&tree, "/f", "early", "1");
    let mut upload = weir_storage::Upload::begin(&tree, &disk(), &path("/f"), &[], None).unwrap();
    upload.write(b"new").unwrap();
    let mut prepared = upload.prepare(COMMIT).unwrap();
    set(&tree, "/f", "late", "2");
    assert_eq!(get(&tree, "/f").unwrap(), b"old");
    prepared.publish().unwrap();
    assert!(!prepared.finish().unwrap().created);
    assert_eq!(
        (get(&tree, "/f").unwrap(), values(&tree, "/f")),
        (b"new".to_vec(), vec!["early".to_owned(), "late".to_owned()])
    );
    // Repeats this with properties that are removed meanwhile.
    let mut upload = weir_storage::Upload::begin(&tree, &disk(), &path("/f"), &[], None).unwrap();
    upload.write(b"newer").unwrap();
    let mut prepared = upload.prepare(COMMIT).unwrap();
    let gone = ["early", "late"].map(|name| PropertyUpdate::Remove(PropName::new("urn:x", name).unwrap()));
    tree.update_properties(&path("/f"), &gone, Durability::Full).unwrap();
    prepared.publish().unwrap();
    prepared.finish().unwrap();
    assert_eq!((get(&tree, "/f").unwrap(), values(&tree, "/f")), (b"newer".to_vec(), vec![]));
    // An upload that is prepared and then dropped leaves nothing.
    let disk = weir_storage::Disk::new("one", 1, 9);
    let upload = weir_storage::Upload::begin(&tree, &disk, &path("/g"), &[], None).unwrap();
    drop(upload.prepare(COMMIT).unwrap());
    settle(&disk);
    assert!(temporaries(directory.path()).is_empty() && tree.metadata(&path("/g")).is_err());
}

#[test]
fn those_who_change_properties_at_once_lose_nothing() {
    let directory = tempfile::tempdir().unwrap();
    put(&tree(directory.path()), "/f", b"1").unwrap();
    std::thread::scope(|scope| {
        for number in 0..8 {
            // Each thread acts as another node.
            let root = directory.path();
            scope.spawn(move || set(&tree(root), "/f", &format!("p{number}"), "1"));
        }
    });
    assert_eq!(values(&tree(directory.path()), "/f").len(), 8);
}

#[test]
fn who_may_have_properties_is_known_without_opening_a_file() {
    let directory = tempfile::tempdir().unwrap();
    let tree = tree(directory.path());
    for name in ["/plain", "/noted", "/odd"] {
        put(&tree, name, b"x").unwrap();
    }
    tree.create_directory(&path("/d"), Durability::None).unwrap();
    set(&tree, "/noted", "a", "1");
    set(&tree, "/d", "a", "1");
    let has_side = directory.path().join(".weir-notes").exists();
    let mut listing = tree.list(&path("/")).unwrap();
    for entry in listing.next_batch(100).unwrap() {
        let has = !values(&tree, &format!("/{}", String::from_utf8_lossy(&entry.name))).is_empty();
        let may = listing.may_have_properties(&entry);
        assert!(may || !has, "{entry:?}");
        // With attributes, no file is opened in vain.
        assert!(may == has || has_side, "{entry:?}");
    }
}
