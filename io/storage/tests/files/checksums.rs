//! Tests of stored checksums.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::time::{Duration, Instant, UNIX_EPOCH};

use weir_dav::digest::{Algorithm, Digest};
use weir_storage::{Tree, TreeOptions, Upload};

use crate::support::*;

const KNOWN: [(Algorithm, &str); 5] = [
    (Algorithm::Adler32, "024d0127"),
    (Algorithm::Crc32c, "364b3fb7"),
    (Algorithm::Md5, "900150983cd24fb0d6963f7d28e17f72"),
    (Algorithm::Sha256, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
    (
        Algorithm::Sha512,
        "ddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee64b55d39a\
         2192992a274fc1a836ba3c23a3feebbd454d4423643ce80e2a9ac94fa54ca49f",
    ),
];

fn known() -> Vec<Digest> {
    KNOWN.iter().map(|(algorithm, hex)| Digest::from_hex(*algorithm, hex.as_bytes()).unwrap()).collect()
}

fn stored(tree: &Tree, at: &str) -> Vec<Digest> {
    tree.checksums(&path(at), &tree.open(&path(at)).unwrap()).unwrap()
}

/// Sets the modification time to this many seconds after 1970.
fn age(file: &Path, seconds: u64) {
    let file = fs::File::options().write(true).open(file).unwrap();
    file.set_modified(UNIX_EPOCH + Duration::from_secs(seconds)).unwrap();
}

#[test]
fn checksums_are_computed_while_bytes_arrive_and_stay_with_the_file() {
    let directory = tempfile::tempdir().unwrap();
    let tree = tree(directory.path());
    let mut upload = Upload::begin(&tree, &disk(), &path("/f"), &Algorithm::ALL, None).unwrap();
    for byte in b"abc" {
        upload.write(&[*byte]).unwrap();
    }
    assert_eq!(upload.commit(COMMIT).unwrap().digests, known());
    assert_eq!(stored(&tree, "/f"), known());
    // StoRM WebDAV stores and reads it in this form.
    let file = fs::File::open(directory.path().join("f")).unwrap();
    let mut value = [0; 16];
    let bytes = rustix::fs::fgetxattr(&file, "user.storm.checksum.adler32", &mut value[..]).unwrap();
    assert_eq!(&value[..bytes], b"024d0127");
}

#[test]
fn a_change_behind_our_back_makes_checksums_stale() {
    let directory = tempfile::tempdir().unwrap();
    let tree = tree(directory.path());
    put(&tree, "/f", b"abc").unwrap();
    assert_eq!(stored(&tree, "/f").len(), 1);
    let mut file = fs::OpenOptions::new().append(true).open(directory.path().join("f")).unwrap();
    file.write_all(b"d").unwrap();
    assert!(stored(&tree, "/f").is_empty());
    age(&directory.path().join("f"), 1);
    let opened = tree.open(&path("/f")).unwrap();
    let computed = tree.compute_checksums(&path("/f"), &opened, &[Algorithm::Adler32], &GO_ON).unwrap();
    assert_eq!(computed[0].to_hex(), "03d8018b");
    assert_eq!(stored(&tree, "/f"), computed);
    // Same length, other content, other time.
    fs::write(directory.path().join("f"), "wxyz").unwrap();
    age(&directory.path().join("f"), 2);
    assert!(stored(&tree, "/f").is_empty());
}

#[test]
fn computing_adds_to_what_is_there() {
    let directory = tempfile::tempdir().unwrap();
    let tree = tree(directory.path());
    fs::write(directory.path().join("f"), "abc").unwrap();
    age(&directory.path().join("f"), 1);
    let file = tree.open(&path("/f")).unwrap();
    for algorithm in [Algorithm::Adler32, Algorithm::Md5] {
        tree.compute_checksums(&path("/f"), &file, &[algorithm], &GO_ON).unwrap();
    }
    let names: Vec<_> = stored(&tree, "/f").iter().map(Digest::algorithm).collect();
    assert_eq!(names, [Algorithm::Adler32, Algorithm::Md5]);
}

#[test]
fn checksums_of_what_may_still_change_unnoticed_are_told_and_not_kept() {
    let directory = tempfile::tempdir().unwrap();
    let tree = tree(directory.path());
    let file = directory.path().join("f");
    let compute = || {
        let opened = tree.open(&path("/f")).unwrap();
        tree.compute_checksums(&path("/f"), &opened, &[Algorithm::Adler32], &GO_ON).unwrap()
    };
    loop {
        let began = Instant::now();
        fs::write(&file, "abc").unwrap();
        let written = fs::metadata(&file).unwrap().modified().unwrap();
        assert_eq!(compute(), known()[..1]);
        // Writes the file again with the same modification time.
        fs::write(&file, "xyz").unwrap();
        fs::File::options().write(true).open(&file).unwrap().set_modified(written).unwrap();
        let kept = stored(&tree, "/f");
        // If the machine was slow, the loop tries again.
        if began.elapsed() < Duration::from_secs(1) {
            assert!(kept.is_empty(), "{kept:?}");
            break;
        }
    }
    age(&file, 1);
    let computed = compute();
    assert_eq!(stored(&tree, "/f"), computed);
    assert_ne!(computed, known()[..1]);
}

#[test]
fn checksums_of_another_program_count_only_where_it_is_trusted() {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("f"), "abc").unwrap();
    let file = fs::File::open(directory.path().join("f")).unwrap();
    let flags = rustix::fs::XattrFlags::empty();
    rustix::fs::fsetxattr(&file, "user.storm.checksum.adler32", b"24d0127", flags).unwrap();
    let tree = tree(directory.path());
    assert!(stored(&tree, "/f").is_empty());
    let trusting = TreeOptions { trust_foreign_checksums: true, ..options("one", 1) };
    let trusting = Tree::open_root(directory.path(), trusting).unwrap();
    assert_eq!(stored(&trusting, "/f"), known()[..1]);
    // Weir's own checksums take precedence, even if they are stale.
    put(&trusting, "/g", b"abc").unwrap();
    fs::write(directory.path().join("g"), "xyz!").unwrap();
    assert!(stored(&trusting, "/g").is_empty());
}

#[test]
fn a_copy_keeps_checksums_and_an_overwriting_upload_has_new_ones() {
    let directory = tempfile::tempdir().unwrap();
    let tree = tree(directory.path());
    put(&tree, "/f", b"abc").unwrap();
    let options = weir_storage::CopyOptions {
        deep: true,
        overwrite: false,
        durability: weir_storage::Durability::None,
    };
    tree.copy(&path("/f"), &path("/g"), options, &mut |_, _| true, &GO_ON).unwrap();
    assert_eq!(stored(&tree, "/g"), known()[..1]);
    put(&tree, "/f", b"hello").unwrap();
    assert_eq!(stored(&tree, "/f")[0].to_hex(), "062c0215");
}
