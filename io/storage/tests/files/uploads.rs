//! Tests of uploads.

use std::fs;
use std::sync::atomic::AtomicBool;

use weir_dav::digest::{Algorithm, Digest};
use weir_dav::range::Position;
use weir_storage::{Commit, Disk, Durability, Expectation, StorageError, Upload};

use crate::support::*;

#[test]
fn an_upload_is_seen_whole_or_not_at_all() {
    let directory = tempfile::tempdir().unwrap();
    let tree = tree(directory.path());
    fs::write(directory.path().join("f"), "old").unwrap();
    let before = tree.open(&path("/f")).unwrap();
    let mut upload = Upload::begin(&tree, &disk(), &path("/f"), &[], Some(100)).unwrap();
    upload.write(b"new ").unwrap();
    upload.write(b"content").unwrap();
    assert_eq!(get(&tree, "/f").unwrap(), b"old");
    assert_eq!(tree.list(&path("/")).unwrap().next_batch(10).unwrap().len(), 1);
    for durability in [Durability::None, Durability::Data, Durability::Full] {
        let mut upload = Upload::begin(&tree, &disk(), &path("/g"), &[], None).unwrap();
        upload.write(b"x").unwrap();
        upload.commit(Commit { durability, ..COMMIT }).unwrap();
    }
    let committed = upload.commit(COMMIT).unwrap();
    assert!(!committed.created);
    assert_eq!(get(&tree, "/f").unwrap(), b"new content");
    assert_eq!(committed.metadata.size, 11);
    assert!(tree.metadata(&path("/f")).unwrap().is_same_version(&committed.metadata));
    // A handle of the old file still reads the old content.
    let mut content = [0; 8];
    assert_eq!(before.read(0, &mut content).unwrap(), 3);
    assert!(temporaries(directory.path()).is_empty());
}

#[test]
fn an_upload_that_is_given_up_leaves_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let tree = tree(directory.path());
    fs::write(directory.path().join("f"), "old").unwrap();
    let disk = Disk::new("one", 1, 9);
    let mut upload = Upload::begin(&tree, &disk, &path("/f"), &[], None).unwrap();
    upload.write(b"new").unwrap();
    assert_eq!(temporaries(directory.path()).len(), 1);
    drop(upload);
    settle(&disk);
    assert!(temporaries(directory.path()).is_empty());
    assert_eq!(get(&tree, "/f").unwrap(), b"old");
}

#[test]
fn what_came_otherwise_than_it_was_sent_is_not_stored() {
    let directory = tempfile::tempdir().unwrap();
    let tree = tree(directory.path());
    let right = Digest::from_hex(Algorithm::Adler32, b"062c0215").unwrap();
    let wrong = Digest::from_hex(Algorithm::Md5, b"00000000000000000000000000000000").unwrap();
    let upload = |digests: &[Digest], length| {
        let mut upload = Upload::begin(&tree, &disk(), &path("/f"), &[Algorithm::Adler32], None).unwrap();
        upload.write(b"hello").unwrap();
        upload.commit(Commit { digests, length, ..COMMIT })
    };
    // MD5 was not computed while bytes arrived, and is checked all the same.
    assert_eq!(upload(&[right.clone(), wrong], None).unwrap_err(), StorageError::Digest(Algorithm::Md5));
    assert_eq!(upload(&[], Some(6)).unwrap_err(), StorageError::Length);
    assert_eq!(tree.metadata(&path("/f")).unwrap_err(), StorageError::NotFound);
    assert_eq!(upload(std::slice::from_ref(&right), Some(5)).unwrap().digests, [right]);
}

#[test]
fn an_upload_replaces_only_what_its_client_has_seen() {
    let directory = tempfile::tempdir().unwrap();
    let tree = tree(directory.path());
    let upload = |expect| {
        let mut upload = Upload::begin(&tree, &disk(), &path("/f"), &[], None).unwrap();
        upload.write(b"mine").unwrap();
        upload.commit(Commit { expect, ..COMMIT })
    };
    assert!(upload(Expectation::Nothing).unwrap().created);
    assert_eq!(upload(Expectation::Nothing).unwrap_err(), StorageError::Exists);
    let seen = tree.metadata(&path("/f")).unwrap();
    let after = upload(Expectation::Version(seen)).unwrap().metadata;
    assert_eq!(upload(Expectation::Version(seen)).unwrap_err(), StorageError::Changed);
    fs::remove_file(directory.path().join("f")).unwrap();
    assert_eq!(upload(Expectation::Version(after)).unwrap_err(), StorageError::Changed);
    assert!(upload(Expectation::Anything).unwrap().created);
}

#[test]
fn of_many_who_create_at_once_one_does() {
    let directory = tempfile::tempdir().unwrap();
    let tree = tree(directory.path());
    let created = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..8)
            .map(|number: u8| {
                let tree = &tree;
                scope.spawn(move || {
                    let mut upload = Upload::begin(tree, &disk(), &path("/f"), &[], None).unwrap();
                    upload.write(&[number; 1000]).unwrap();
                    upload.commit(Commit { expect: Expectation::Nothing, ..COMMIT }).is_ok()
                })
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).filter(|created| *created).count()
    });
    assert_eq!(created, 1);
    let content = get(&tree, "/f").unwrap();
    assert!(content.len() == 1000 && content.iter().all(|byte| *byte == content[0]));
}

#[test]
fn a_part_leaves_the_rest_as_it_is() {
    let directory = tempfile::tempdir().unwrap();
    let tree = tree(directory.path());
    put(&tree, "/f", b"0123456789").unwrap();
    let part_at = |position, bytes: &[u8]| {
        let stop = AtomicBool::new(false);
        let algorithms = [Algorithm::Crc32c];
        let (mut upload, base) =
            Upload::begin_part(&tree, &disk(), &path("/f"), &algorithms, position, &stop)?;
        upload.write(bytes)?;
        let expect = base.map_or(Expectation::Nothing, Expectation::Version);
        upload.commit(Commit { expect, length: Some(bytes.len() as u64), ..COMMIT })
    };
    let part = |first, bytes| part_at(Position::At(first), bytes);
    part(2, b"abc").unwrap();
    assert_eq!(get(&tree, "/f").unwrap(), b"01abc56789");
    let committed = part(8, b"XYZ").unwrap();
    assert_eq!(get(&tree, "/f").unwrap(), b"01abc567XYZ");
    assert_eq!(committed.digests.len(), 1);
    assert_eq!(part(12, b"gap").unwrap_err(), StorageError::Gap);
    assert_eq!(get(&tree, "/f").unwrap(), b"01abc567XYZ");
    let file = tree.open(&path("/f")).unwrap();
    assert_eq!(tree.checksums(&path("/f"), &file).unwrap(), committed.digests);
    part_at(Position::BeforeEnd(2), b"uvw").unwrap();
    part_at(Position::End, b"end").unwrap();
    assert_eq!(part_at(Position::BeforeEnd(16), b"").unwrap_err(), StorageError::Gap);
    part_at(Position::Anywhere(17), b"!").unwrap();
    assert_eq!(get(&tree, "/f").unwrap(), b"01abc567Xuvwend\0\0!");
}
