//! Tests of stored locks.

use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::time::Duration;

use weir_dav::header::LockToken;
use weir_dav::lock::{Lock, LockError, LockLimits, LockTable, Scope};
use weir_storage::{LockStore, StorageError};
use weir_testkit::{PATIENCE, SetOnDrop};

use crate::support::*;

const LIMITS: LockLimits = LockLimits { table_max: 100, principal_max: 100 };

fn lock(at: &str, number: u128) -> Lock {
    Lock {
        token: LockToken::from_random(number),
        root: path(at),
        collection: false,
        scope: Scope::Exclusive,
        infinite: true,
        owner: None,
        principal: "somebody".into(),
        expires_s: 1_000,
    }
}

#[test]
fn locks_are_shared_by_nodes_and_survive_a_restart() {
    let directory = tempfile::tempdir().unwrap();
    let (one, other) = (LockStore::new(tree(directory.path())), LockStore::new(tree(directory.path())));
    assert!(one.view().unwrap().is_empty());
    assert_eq!(one.update(|table| table.lock(lock("/a", 1), 0, LIMITS)).unwrap(), Ok(()));
    assert!(matches!(
        other.update(|table| table.lock(lock("/a/b", 2), 0, LIMITS)).unwrap(),
        Err(LockError::Conflict(_))
    ));
    assert_eq!(other.view().unwrap().len(), 1);
    assert_eq!(other.update(|table| table.lock(lock("/c", 3), 0, LIMITS)).unwrap(), Ok(()));
    // A node that has read the locks before sees the change.
    assert_eq!(one.hold(weir_dav::lock::LockTable::len).unwrap(), 2);
    drop((one, other));
    let again = LockStore::new(tree(directory.path()));
    assert!(again.view().unwrap().is_locked_by(&path("/a/b"), &LockToken::from_random(1), 999));
}

#[test]
fn those_who_lock_at_once_do_not_overwrite_each_other() {
    let directory = tempfile::tempdir().unwrap();
    std::thread::scope(|scope| {
        for number in 0..16 {
            let store = LockStore::new(tree(directory.path()));
            scope.spawn(move || {
                store
                    .update(|table| table.lock(lock(&format!("/{number}"), number), 0, LIMITS))
                    .unwrap()
                    .unwrap();
            });
        }
    });
    assert_eq!(LockStore::new(tree(directory.path())).view().unwrap().len(), 16);
}

#[test]
fn nobody_locks_while_somebody_relies_on_what_is_locked() {
    let directory = tempfile::tempdir().unwrap();
    let store = LockStore::new(tree(directory.path()));
    store.update(|table| table.lock(lock("/a", 1), 0, LIMITS)).unwrap().unwrap();
    let (store, other) = (&store, LockStore::new(tree(directory.path())));
    std::thread::scope(|scope| {
        let held = store.hold(|before| {
            let locking = scope.spawn(move || other.update(|table| table.lock(lock("/b", 2), 0, LIMITS)));
            // The other thread has this time to set its lock, and cannot.
            for _ in 0..100 {
                assert_eq!(store.view().unwrap().len(), before.len());
            }
            locking
        });
        assert_eq!(held.unwrap().join().unwrap().unwrap(), Ok(()));
    });
    assert_eq!(store.view().unwrap().len(), 2);
}

#[test]
fn who_takes_a_lock_need_not_wait_for_a_moment_without_writers() {
    let directory = tempfile::tempdir().unwrap();
    let store = || LockStore::new(tree(directory.path()));
    store().update(|table| table.lock(lock("/a", 1), 0, LIMITS)).unwrap().unwrap();
    let stop = AtomicBool::new(false);
    let (begun, begins) = mpsc::channel();
    let (to_one, from_other) = mpsc::channel();
    let (to_other, from_one) = mpsc::channel();
    // Each of the two writers leaves only when the other has come or cannot come, so that there is always
    // one.
    let write = |to: mpsc::Sender<()>, from: mpsc::Receiver<()>, begun: mpsc::Sender<()>| {
        let store = store();
        while !stop.load(Ordering::Relaxed) {
            let met = store.hold(|_| {
                let _ = to.send(());
                from.recv_timeout(Duration::from_millis(500)).is_ok()
            });
            if met.unwrap() {
                let _ = begun.send(());
            }
        }
    };
    let (locked, is_locked) = mpsc::channel();
    let done = std::thread::scope(|scope| {
        let second = begun.clone();
        scope.spawn(|| write(to_other, from_other, begun));
        scope.spawn(|| {
            // The first writer holds the guard.
            from_one.recv_timeout(PATIENCE).unwrap();
            write(to_one, from_one, second);
        });
        let _stop = SetOnDrop(&stop);
        for _ in 0..10 {
            begins.recv_timeout(PATIENCE).unwrap();
        }
        let other = store();
        scope.spawn(move || {
            locked.send(other.update(|table| table.lock(lock("/b", 2), 0, LIMITS)).unwrap()).unwrap();
        });
        is_locked.recv_timeout(PATIENCE)
    });
    assert_eq!(done, Ok(Ok(())));
}

fn store(root: &Path) -> LockStore {
    LockStore::new(tree(root))
}

fn take(store: &LockStore, at: &str, number: u128) {
    store.update(|table| table.lock(lock(at, number), 0, LIMITS)).unwrap().unwrap();
}

fn give_back(store: &LockStore, at: &str, number: u128) {
    let token = LockToken::from_random(number);
    store.update(|table| table.unlock(&path(at), &token, None, 0)).unwrap().unwrap();
}

#[test]
fn a_change_of_locks_is_appended_and_leaves_what_was_written_before_alone() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join(".weir-store/locks.log");
    let store = store(directory.path());
    take(&store, "/0", 0);
    for number in 1..50 {
        let before = fs::read(&file).unwrap();
        take(&store, &format!("/{number}"), number);
        let after = fs::read(&file).unwrap();
        assert!(after.starts_with(&before));
        assert_eq!(after[before.len()..].iter().filter(|byte| **byte == b'\n').count(), 1);
    }
    // An update without a change writes nothing.
    let before = fs::metadata(&file).unwrap().modified().unwrap();
    assert!(store.update(|table| table.lock(lock("/1", 99), 0, LIMITS)).unwrap().is_err());
    assert_eq!(fs::metadata(&file).unwrap().modified().unwrap(), before);
}

#[test]
fn a_log_that_is_mostly_out_of_date_is_written_anew_and_others_go_on_with_the_new_one() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join(".weir-store/locks.log");
    let (one, other) = (store(directory.path()), store(directory.path()));
    take(&one, "/kept", 1);
    let first_line = |text: Vec<u8>| text.split(|byte| *byte == b'\n').next().unwrap().to_vec();
    let before = first_line(fs::read(&file).unwrap());
    for number in 2..700 {
        take(&one, "/passing", number);
        assert!(other.view().unwrap().is_locked_by(&path("/passing"), &LockToken::from_random(number), 0));
        give_back(&one, "/passing", number);
    }
    let text = fs::read(&file).unwrap();
    assert!(text.iter().filter(|byte| **byte == b'\n').count() < 1_100);
    assert_ne!(first_line(text), before);
    take(&other, "/more", 1_000);
    for store in [&one, &other, &store(directory.path())] {
        assert_eq!(store.view().unwrap().len(), 2);
    }
}

#[test]
fn what_is_left_of_a_line_that_was_not_written_whole_counts_for_nothing_and_goes() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join(".weir-store/locks.log");
    let one = store(directory.path());
    take(&one, "/a", 1);
    let sound = fs::read(&file).unwrap();
    for rest in [&b"{\"set\":{\"tok"[..], b"\0\0\0\0\0\0", b"\0\0\n\0\0\n"] {
        fs::write(&file, [&sound[..], rest].concat()).unwrap();
        for store in [&one, &store(directory.path())] {
            assert_eq!(store.view().unwrap().len(), 1, "{rest:?}");
        }
        take(&one, "/b", 2);
        assert_eq!(store(directory.path()).view().unwrap().len(), 2, "{rest:?}");
        give_back(&one, "/b", 2);
    }
}

#[test]
fn locks_that_cannot_be_read_are_not_taken_for_none() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join(".weir-store/locks.log");
    let one = store(directory.path());
    take(&one, "/a", 1);
    take(&one, "/b", 2);
    let text = fs::read_to_string(&file).unwrap();
    for damaged in ["", "nonsense\n", &text.replacen("set", "sat", 1)] {
        fs::write(&file, damaged).unwrap();
        for store in [&one, &store(directory.path())] {
            let refused = Some(StorageError::Damaged("the file of locks"));
            assert_eq!(store.view().err(), refused, "{damaged}");
            assert_eq!(store.hold(LockTable::len).err(), refused, "{damaged}");
            assert_eq!(store.update(|table| table.len()).err(), refused, "{damaged}");
        }
    }
    fs::write(&file, text).unwrap();
    assert_eq!(one.view().unwrap().len(), 2);
}

#[test]
fn locks_of_earlier_versions_are_taken_over() {
    let directory = tempfile::tempdir().unwrap();
    let in_store = |name: &str| directory.path().join(".weir-store").join(name);
    fs::create_dir(in_store("")).unwrap();
    let before = LockTable::from(vec![lock("/a", 1), lock("/b", 2)]);
    fs::write(in_store("locks.json"), serde_json::to_vec(&before).unwrap()).unwrap();
    let (one, other) = (store(directory.path()), store(directory.path()));
    assert_eq!((one.view().unwrap().len(), other.view().unwrap().len()), (2, 2));
    take(&one, "/c", 3);
    assert!(!in_store("locks.json").exists());
    assert_eq!((one.view().unwrap().len(), other.view().unwrap().len()), (3, 3));
}
