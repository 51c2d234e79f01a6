//! Tests of uploads of several requests.

use std::fs;

use super::*;
use crate::upload::{Commit, Expectation};
use crate::{NodeId, TreeOptions, Upload};

const ID: PartialId = PartialId::new([7; 16]);
const COMMIT: Commit<'static> =
    Commit { durability: Durability::None, expect: Expectation::Anything, digests: &[], length: None };

fn file() -> DavPath {
    DavPath::parse(b"/f", &PathLimits::NONE).unwrap().path
}

fn tree(root: &std::path::Path) -> Arc<Tree> {
    Tree::open_root(root, TreeOptions::new(NodeId::new("one").unwrap(), 1)).unwrap()
}

/// Begins an upload to `/f` with these bytes.
fn begin(tree: &Arc<Tree>, bytes: &[u8]) -> Upload {
    let state = PartialState::new(&file(), String::new(), StartedFrom::Anything, 1);
    let mut upload = Upload::resume(Partial::create(tree, ID, state).unwrap(), &[]).unwrap();
    upload.write(bytes).unwrap();
    upload
}

/// Changes the state as if another machine had written it.
fn from_elsewhere(tree: &Tree) {
    let mut state = tree.partial_state(ID).unwrap();
    state.machine = "another".to_owned();
    write_state(&uploads(tree, true).unwrap().unwrap(), ID, &state).unwrap();
}

#[test]
fn what_has_become_visible_between_opening_and_locking_is_left_alone() {
    let directory = tempfile::tempdir().unwrap();
    let tree = tree(directory.path());
    let upload = begin(&tree, b"whole");
    from_elsewhere(&tree);
    let (home, _) = tree.resolve_parent(&file()).unwrap();
    let opened = open_data(&home, ID).unwrap();
    upload.commit(COMMIT).unwrap();
    let taken = Partial::take(&tree, ID, (file(), home, opened), Durability::None);
    assert_eq!(taken.err(), Some(StorageError::Busy));
    assert_eq!(fs::read(directory.path().join("f")).unwrap(), b"whole");
    assert_eq!(Partial::open(&tree, ID, Durability::None).err(), Some(StorageError::NotFound));
}

#[test]
fn what_has_become_visible_by_a_second_name_is_complete() {
    let directory = tempfile::tempdir().unwrap();
    let tree = tree(directory.path());
    drop(begin(&tree, b"whole"));
    from_elsewhere(&tree);
    let part = directory.path().join(data_name(ID));
    fs::hard_link(&part, directory.path().join("f")).unwrap();
    assert_eq!(Partial::open(&tree, ID, Durability::None).err(), Some(StorageError::NotFound));
    assert_eq!(fs::read(directory.path().join("f")).unwrap(), b"whole");
    assert!(!part.exists());
    assert_eq!(tree.partial_state(ID).unwrap().completed, Some(5));
}

#[test]
fn what_is_left_of_less_than_was_told_is_removed() {
    let directory = tempfile::tempdir().unwrap();
    let tree = tree(directory.path());
    let mut upload = begin(&tree, b"told");
    upload.settle(Durability::None, 9).unwrap();
    drop(upload);
    let part = directory.path().join(data_name(ID));
    fs::write(&part, b"t").unwrap();
    assert_eq!(Partial::open(&tree, ID, Durability::None).err(), Some(StorageError::NotFound));
    assert!(!part.exists());
    assert_eq!(tree.partial_state(ID).err(), Some(StorageError::NotFound));
}

#[test]
fn what_is_settled_while_more_comes_counts_once_and_keeps_what_was_promised() {
    let directory = tempfile::tempdir().unwrap();
    let tree = tree(directory.path());
    tree.ledger().set_quota(Some(10));
    let mut state = PartialState::new(&file(), String::new(), StartedFrom::Anything, 1);
    state.length = Some(8);
    let mut upload = Upload::resume(Partial::create(&tree, ID, state).unwrap(), &[]).unwrap();
    for _ in 0..2 {
        upload.write(b"abc").unwrap();
        upload.settle(Durability::None, 9).unwrap();
        assert_eq!(tree.ledger().account().left, Some(2));
    }
    from_elsewhere(&tree);
    drop(upload);
    let partial = Partial::open(&tree, ID, Durability::None).unwrap();
    assert_eq!((partial.bytes(), partial.state().expires_s), (6, 9));
    assert_eq!(tree.ledger().account().left, Some(4));
}

#[test]
fn what_stands_beside_a_file_takes_up_room_of_its_own() {
    let directory = tempfile::tempdir().unwrap();
    let tree = tree(directory.path());
    fs::write(directory.path().join("f"), [0; 10]).unwrap();
    tree.ledger().came(Tally::new(10));
    tree.ledger().set_quota(Some(15));
    let mut upload = begin(&tree, &[1; 5]);
    assert_eq!(upload.write(&[1]), Err(StorageError::OverQuota));
    upload.commit(COMMIT).unwrap();
    assert_eq!(tree.ledger().account().left, Some(10));
}

#[test]
fn an_id_is_what_it_is_written_as_and_nothing_else() {
    let id = PartialId::new([0xAB; 16]);
    assert_eq!(PartialId::parse(id.to_string().as_bytes()), Some(id));
    for wrong in [&b"ab"[..], &[b'A'; 32], &[b'/'; 32], b"../../../../../../etc/passwd00000"] {
        assert_eq!(PartialId::parse(wrong), None);
    }
}

#[test]
fn a_state_that_leads_to_a_reserved_name_is_damaged() {
    let state = PartialState::new(&DavPath::root(), String::new(), StartedFrom::Anything, 1);
    let text = serde_json::to_string(&state).unwrap();
    assert_eq!(PartialState::parse(text.as_bytes()), Ok(state));
    let text = text.replace("\"path\":\"/\"", "\"path\":\"/.weir-store/locks.json\"");
    assert_eq!(PartialState::parse(text.as_bytes()), Err(DAMAGED));
    assert_eq!(PartialState::parse(b"{"), Err(DAMAGED));
}
