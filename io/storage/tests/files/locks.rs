use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::time::Duration;

use weir_dav::header::LockToken;
use weir_dav::lock::{Lock, LockError, Scope};
use weir_storage::LockStore;
use weir_testkit::PATIENCE;

use crate::support::*;

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
    assert_eq!(one.update(|table| table.lock(lock("/a", 1), 0, 100)).unwrap(), Ok(()));
    assert!(matches!(
        other.update(|table| table.lock(lock("/a/b", 2), 0, 100)).unwrap(),
        Err(LockError::Conflict(_))
    ));
    assert_eq!(other.view().unwrap().len(), 1);
    assert_eq!(other.update(|table| table.lock(lock("/c", 3), 0, 100)).unwrap(), Ok(()));
    // Whoever has read it before sees the change.
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
                    .update(|table| table.lock(lock(&format!("/{number}"), number), 0, 100))
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
    store.update(|table| table.lock(lock("/a", 1), 0, 100)).unwrap().unwrap();
    let (store, other) = (&store, LockStore::new(tree(directory.path())));
    std::thread::scope(|scope| {
        let held = store.hold(|before| {
            let locking = scope.spawn(move || other.update(|table| table.lock(lock("/b", 2), 0, 100)));
            // It has all the time that this takes, and cannot use it.
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
    store().update(|table| table.lock(lock("/a", 1), 0, 100)).unwrap().unwrap();
    let stop = AtomicBool::new(false);
    let (begun, begins) = mpsc::channel();
    let (to_one, from_other) = mpsc::channel();
    let (to_other, from_one) = mpsc::channel();
    // Of two writers one leaves when the other has come, or cannot come: there is never a moment without one.
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
            // The first one is there.
            from_one.recv_timeout(PATIENCE).unwrap();
            write(to_one, from_one, second);
        });
        for _ in 0..10 {
            begins.recv_timeout(PATIENCE).unwrap();
        }
        let other = store();
        scope.spawn(move || {
            locked.send(other.update(|table| table.lock(lock("/b", 2), 0, 100)).unwrap()).unwrap();
        });
        let done = is_locked.recv_timeout(PATIENCE);
        stop.store(true, Ordering::Relaxed);
        done
    });
    assert_eq!(done, Ok(Ok(())));
}
