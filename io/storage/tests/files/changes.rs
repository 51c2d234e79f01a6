//! Tests of creating directories, copying, moving and removing.

use std::fs;
use std::os::unix::fs::symlink;
use std::sync::Arc;

use weir_dav::path::DavPath;
use weir_storage::{CopyOptions, Durability, StorageError, Transferred, Tree, Upload};

use crate::support::*;

const DEEP: CopyOptions = CopyOptions { deep: true, overwrite: true, durability: Durability::None };
const CAREFUL: CopyOptions = CopyOptions { overwrite: false, ..DEEP };

/// Creates `/a` with two files, one of them in a subdirectory.
fn world() -> (tempfile::TempDir, Arc<Tree>) {
    let directory = tempfile::tempdir().unwrap();
    fs::create_dir_all(directory.path().join("a/b")).unwrap();
    fs::write(directory.path().join("a/1"), "one").unwrap();
    fs::write(directory.path().join("a/b/2"), "two").unwrap();
    let tree = tree(directory.path());
    (directory, tree)
}

fn copy(tree: &Arc<Tree>, from: &str, to: &str, options: CopyOptions) -> Result<Transferred, StorageError> {
    tree.copy(&path(from), &path(to), options, &mut |_, _| true, &GO_ON).map_err(|failure| failure.error)
}

fn rename(tree: &Arc<Tree>, from: &str, to: &str, overwrite: bool) -> Result<Transferred, StorageError> {
    let renamed = tree.rename(&path(from), &path(to), overwrite, Durability::Full, &GO_ON);
    renamed.map_err(|failure| failure.error)
}

#[test]
fn a_directory_is_made_in_one_that_exists_where_nothing_is() {
    let (_directory, tree) = world();
    let make = |at: &str| tree.create_directory(&path(at), Durability::Full);
    assert_eq!(make("/a/new"), Ok(()));
    assert_eq!(make("/a/new"), Err(StorageError::Exists));
    assert_eq!(make("/a/1"), Err(StorageError::Exists));
    assert_eq!(make("/"), Err(StorageError::Exists));
    assert_eq!(make("/none/new"), Err(StorageError::ParentMissing));
    assert_eq!(make("/a/1/new"), Err(StorageError::ParentMissing));
}

#[test]
fn a_copy_has_all_members_and_replaces_what_was_there() {
    let (directory, tree) = world();
    assert_eq!(copy(&tree, "/a", "/c", CAREFUL), Ok(Transferred { created: true }));
    assert_eq!(get(&tree, "/c/b/2").unwrap(), b"two");
    put(&tree, "/c/extra", b"x").unwrap();
    assert_eq!(copy(&tree, "/a", "/c", CAREFUL), Err(StorageError::Exists));
    assert_eq!(copy(&tree, "/a", "/c", DEEP), Ok(Transferred { created: false }));
    assert_eq!(get(&tree, "/c/extra"), Err(StorageError::NotFound));
    // A file over a directory, and the other way round.
    assert_eq!(copy(&tree, "/a/1", "/c", DEEP), Ok(Transferred { created: false }));
    assert_eq!(get(&tree, "/c").unwrap(), b"one");
    assert_eq!(
        copy(&tree, "/a", "/c", CopyOptions { deep: false, ..DEEP }),
        Ok(Transferred { created: false })
    );
    assert_eq!(tree.list(&path("/c")).unwrap().next_batch(9).unwrap().len(), 0);
    assert_eq!(copy(&tree, "/none", "/d", DEEP), Err(StorageError::NotFound));
    assert_eq!(copy(&tree, "/a", "/none/d", DEEP), Err(StorageError::ParentMissing));
    for (from, to) in [("/a", "/a"), ("/a", "/a/b/c"), ("/a/b", "/a")] {
        assert_eq!(copy(&tree, from, to, DEEP), Err(StorageError::Refused), "{from} {to}");
    }
    assert!(temporaries(directory.path()).is_empty());
}

#[test]
fn a_copy_that_may_not_read_a_member_changes_nothing() {
    let (directory, tree) = world();
    put(&tree, "/c", b"kept").unwrap();
    let mut may = |path: &DavPath, _| path.name() != Some(b"2");
    let failure = tree.copy(&path("/a"), &path("/c"), DEEP, &mut may, &GO_ON).unwrap_err();
    assert_eq!((failure.path, failure.error), (path("/a/b/2"), StorageError::Refused));
    assert_eq!(get(&tree, "/c").unwrap(), b"kept");
    assert!(temporaries(directory.path()).is_empty());
}

#[test]
fn holes_stay_holes() {
    let (directory, tree) = world();
    let sparse = fs::File::create(directory.path().join("sparse")).unwrap();
    sparse.set_len(1 << 30).unwrap();
    std::os::unix::fs::FileExt::write_all_at(&sparse, b"middle", 1 << 29).unwrap();
    copy(&tree, "/sparse", "/copy", CAREFUL).unwrap();
    let copied = tree.open(&path("/copy")).unwrap();
    assert_eq!(copied.metadata().size, 1 << 30);
    assert!(copied.metadata().allocated < 1 << 20, "{:?}", copied.metadata());
    let mut middle = [0; 6];
    copied.read(1 << 29, &mut middle).unwrap();
    assert_eq!(&middle, b"middle");
}

#[test]
fn moving_takes_everything_along_and_replaces_only_if_it_may() {
    let (directory, tree) = world();
    put(&tree, "/f", b"file").unwrap();
    assert_eq!(rename(&tree, "/f", "/a/1", false), Err(StorageError::Exists));
    assert_eq!(rename(&tree, "/f", "/a/1", true), Ok(Transferred { created: false }));
    assert_eq!(rename(&tree, "/a", "/d", false), Ok(Transferred { created: true }));
    assert_eq!(get(&tree, "/d/1").unwrap(), b"file");
    tree.create_directory(&path("/full"), Durability::None).unwrap();
    put(&tree, "/full/x", b"x").unwrap();
    assert_eq!(rename(&tree, "/d", "/full", true), Ok(Transferred { created: false }));
    assert_eq!(get(&tree, "/full/b/2").unwrap(), b"two");
    assert_eq!(get(&tree, "/full/x"), Err(StorageError::NotFound));
    assert_eq!(rename(&tree, "/full/1", "/full/b", true), Ok(Transferred { created: false }));
    assert_eq!(get(&tree, "/full/b").unwrap(), b"file");
    assert_eq!(rename(&tree, "/none", "/x", true), Err(StorageError::NotFound));
    assert_eq!(rename(&tree, "/none/x", "/x", true), Err(StorageError::NotFound));
    assert_eq!(rename(&tree, "/full", "/none/x", true), Err(StorageError::ParentMissing));
    for (from, to) in [("/full", "/full"), ("/full", "/full/x"), ("/full/b", "/full"), ("/", "/x")] {
        assert_eq!(rename(&tree, from, to, true), Err(StorageError::Refused), "{from} {to}");
    }
    assert!(temporaries(directory.path()).is_empty());
}

#[test]
fn a_link_is_moved_only_to_where_it_means_the_same() {
    let (directory, _) = world();
    symlink("1", directory.path().join("a/link")).unwrap();
    let tree = tree_with(directory.path(), weir_storage::SymlinkPolicy::InsideRoot);
    assert_eq!(rename(&tree, "/a/link", "/a/b/link", false), Err(StorageError::Refused));
    assert_eq!(rename(&tree, "/a/link", "/a/other", false), Ok(Transferred { created: true }));
    assert_eq!(get(&tree, "/a/other").unwrap(), b"one");
    // The copy of a link is a file.
    copy(&tree, "/a/other", "/a/b/copy", CAREFUL).unwrap();
    tree.remove(&path("/a/other"), Durability::None).unwrap();
    assert_eq!(
        (get(&tree, "/a/b/copy").unwrap(), get(&tree, "/a/1").unwrap()),
        (b"one".to_vec(), b"one".to_vec())
    );
}

#[test]
fn an_upload_into_a_directory_that_goes_meanwhile_says_so() {
    let (directory, tree) = world();
    let mut upload = Upload::begin(&tree, &disk(), &path("/a/new"), &[], None).unwrap();
    upload.write(b"x").unwrap();
    tree.remove(&path("/a"), Durability::None).unwrap();
    assert_eq!(upload.commit(COMMIT).unwrap_err(), StorageError::ParentMissing);
    assert!(temporaries(directory.path()).is_empty());
}

#[test]
fn a_second_name_of_one_file_is_taken_away_by_a_move_onto_the_first() {
    let (directory, tree) = world();
    fs::hard_link(directory.path().join("a/1"), directory.path().join("second")).unwrap();
    assert_eq!(rename(&tree, "/second", "/a/1", true), Ok(Transferred { created: false }));
    assert_eq!(get(&tree, "/second"), Err(StorageError::NotFound));
    assert_eq!(get(&tree, "/a/1").unwrap(), b"one");
}

#[test]
fn removing_a_directory_takes_links_and_not_what_they_point_at() {
    let (directory, tree) = world();
    fs::write(directory.path().join("kept"), "kept").unwrap();
    fs::create_dir(directory.path().join("kept-directory")).unwrap();
    fs::write(directory.path().join("kept-directory/file"), "kept").unwrap();
    symlink("../kept", directory.path().join("a/link")).unwrap();
    symlink("../kept-directory", directory.path().join("a/b/link")).unwrap();
    for number in 0..3_000 {
        fs::write(directory.path().join(format!("a/b/{number}")), "").unwrap();
    }
    tree.remove(&path("/a"), Durability::Full).unwrap();
    assert_eq!(tree.metadata(&path("/a")).unwrap_err(), StorageError::NotFound);
    assert_eq!(get(&tree, "/kept-directory/file").unwrap(), b"kept");
    tree.remove(&path("/kept"), Durability::Full).unwrap();
    for (at, error) in
        [("/kept", StorageError::NotFound), ("/x/y", StorageError::NotFound), ("/", StorageError::Refused)]
    {
        assert_eq!(tree.remove(&path(at), Durability::None).unwrap_err().error, error, "{at}");
    }
    assert!(temporaries(directory.path()).is_empty());
}

#[test]
fn a_survey_tells_of_everything_once_and_follows_nothing() {
    let (directory, tree) = world();
    symlink("b", directory.path().join("a/link")).unwrap();
    let mut seen = Vec::new();
    tree.survey(&path("/a"), &mut |path, is_directory| {
        seen.push((path.href(is_directory), is_directory));
        Ok(())
    })
    .unwrap();
    seen.sort();
    let expected = [("/a/1", false), ("/a/b/", true), ("/a/b/2", false), ("/a/link", false)];
    assert_eq!(seen, expected.map(|(path, directory)| (path.to_owned(), directory)));
    let stopped = tree.survey(&path("/a"), &mut |_, _| Err(StorageError::Cancelled));
    assert_eq!(stopped, Err(StorageError::Cancelled));
}

#[test]
fn two_paths_of_one_file_are_no_move() {
    let (directory, _) = world();
    symlink("a", directory.path().join("latest")).unwrap();
    let tree = tree_with(directory.path(), weir_storage::SymlinkPolicy::InsideRoot);
    for (from, to) in [("/a/1", "/latest/1"), ("/latest/1", "/a/1"), ("/a/b", "/latest/b")] {
        assert_eq!(rename(&tree, from, to, true), Err(StorageError::Refused), "{from} {to}");
    }
    assert_eq!(get(&tree, "/a/1").unwrap(), b"one");
    assert_eq!(get(&tree, "/a/b/2").unwrap(), b"two");
    // Two hard links in one directory that is reached by two paths count as two files.
    fs::hard_link(directory.path().join("a/1"), directory.path().join("a/second")).unwrap();
    assert_eq!(rename(&tree, "/a/second", "/latest/1", true), Ok(Transferred { created: false }));
    assert_eq!(get(&tree, "/a/second"), Err(StorageError::NotFound));
    assert_eq!(get(&tree, "/a/1").unwrap(), b"one");
}

#[test]
fn a_copy_into_its_own_source_by_way_of_a_link_is_refused() {
    let (directory, _) = world();
    symlink("a/b", directory.path().join("latest")).unwrap();
    let tree = tree_with(directory.path(), weir_storage::SymlinkPolicy::InsideRoot);
    assert_eq!(copy(&tree, "/a", "/latest/c", DEEP), Err(StorageError::Refused));
    assert!(temporaries(directory.path()).is_empty());
}

#[test]
fn an_upload_does_not_follow_its_directory_when_that_is_moved() {
    let (directory, tree) = world();
    let mut upload = Upload::begin(&tree, &disk(), &path("/a/new"), &[], None).unwrap();
    upload.write(b"x").unwrap();
    rename(&tree, "/a", "/moved", false).unwrap();
    assert_eq!(upload.commit(COMMIT).unwrap_err(), StorageError::ParentMissing);
    // The upload does not follow either if another directory has the path by now.
    let mut upload = Upload::begin(&tree, &disk(), &path("/moved/new"), &[], None).unwrap();
    upload.write(b"x").unwrap();
    rename(&tree, "/moved", "/a", false).unwrap();
    tree.create_directory(&path("/moved"), Durability::None).unwrap();
    assert_eq!(upload.commit(COMMIT).unwrap_err(), StorageError::ParentMissing);
    let names = raw_names(directory.path());
    assert!(!names.contains(&"new".to_owned()), "{names:?}");
}
