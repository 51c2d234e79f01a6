//! Tests of the pools of threads for file calls.

use std::io::Read;
use std::path::Path;
use std::sync::{Arc, mpsc};
use std::time::Duration;

use weir_storage::{Closing, Disk, StorageError};

use crate::support::*;

#[test]
fn an_area_whose_disk_hangs_says_so_at_once_and_others_go_on() {
    let directory = tempfile::tempdir().unwrap();
    let fifo = directory.path().join("fifo");
    assert!(std::process::Command::new("mkfifo").arg(&fifo).status().unwrap().success());
    let (hung, well) = (Disk::new("hung", 2, 3), Disk::new("well", 2, 3));
    // Opening a FIFO that has no writer does not return, like a call on a dead mount.
    let mut waiting = Vec::new();
    let (begun, begins) = mpsc::channel();
    for _ in 0..5 {
        let (fifo, begun) = (fifo.clone(), begun.clone());
        waiting.push(hung.run(move || {
            begun.send(()).unwrap();
            let mut text = String::new();
            std::fs::File::open(fifo).unwrap().read_to_string(&mut text).unwrap();
            Ok(text)
        }));
    }
    begins.recv().unwrap();
    begins.recv().unwrap();
    assert_eq!((hung.load().busy, hung.load().queued), (2, 3));
    assert_eq!(block_on(hung.run(|| Ok(()))), Err(StorageError::Busy));
    assert_eq!(block_on(well.run(|| Ok(7))), Ok(7));
    // The accepted jobs finish once the disk responds again.
    let writer = std::thread::spawn(move || {
        while let Ok(file) = std::fs::OpenOptions::new().write(true).open(&fifo) {
            drop(file);
            if begins.recv_timeout(Duration::from_millis(1)) == Err(mpsc::RecvTimeoutError::Disconnected) {
                break;
            }
        }
    });
    drop(begun);
    for answer in waiting {
        assert_eq!(block_on(answer), Ok(String::new()));
    }
    drop(hung);
    // The writer may wait for a reader that never comes; it ends with the process.
    drop(writer);
}

#[test]
fn jobs_run_without_being_polled_and_a_panic_is_not_the_pools_end() {
    let disk = Disk::new("test", 1, 10);
    let (sender, receiver) = mpsc::channel();
    let lost = disk.run(|| -> Result<(), StorageError> { panic!("a bug") });
    disk.always(move || sender.send(5).unwrap());
    assert_eq!(receiver.recv(), Ok(5));
    assert_eq!(block_on(lost), Err(StorageError::Cancelled));
}

#[test]
fn a_job_that_nobody_waits_for_any_more_is_dropped_undone() {
    let disk = Disk::new("test", 1, 10);
    let (go, wait) = mpsc::channel::<()>();
    let first = disk.run(move || Ok(wait.recv().is_ok()));
    let (done, was_done) = mpsc::channel::<()>();
    drop(disk.run(move || {
        done.send(()).unwrap();
        Ok(())
    }));
    go.send(()).unwrap();
    assert_eq!(block_on(first), Ok(true));
    assert_eq!(was_done.recv(), Err(mpsc::RecvError));
}

/// Creates a pool with one thread that is busy until the sender is dropped.
fn busy(queue_max: usize) -> (Disk, mpsc::Sender<()>) {
    let disk = Disk::new("test", 1, queue_max);
    let (go, wait) = mpsc::channel::<()>();
    let (begun, begins) = mpsc::channel();
    disk.always(move || {
        begun.send(()).unwrap();
        let _ = wait.recv();
    });
    begins.recv().unwrap();
    (disk, go)
}

#[test]
fn what_has_begun_waits_where_what_is_new_is_refused() {
    let (disk, go) = busy(1);
    assert_eq!(disk.admit(), Ok(()));
    let queued = disk.run(|| Ok(1));
    assert_eq!(disk.admit(), Err(StorageError::Busy));
    assert_eq!(block_on(disk.run(|| Ok(2))), Err(StorageError::Busy));
    let further: Vec<_> = (3..6).map(|number| disk.run_on(move || Ok(number))).collect();
    drop(go);
    assert_eq!(block_on(queued), Ok(1));
    assert_eq!(further.into_iter().map(|job| block_on(job).unwrap()).collect::<Vec<_>>(), [3, 4, 5]);
}

#[test]
fn long_jobs_leave_half_of_the_threads_to_others() {
    let disk = Disk::new("test", 4, 3);
    let (begun, begins) = mpsc::channel();
    let mut goes = Vec::new();
    let long: Vec<_> = (0..5)
        .map(|number| {
            let (go, wait) = mpsc::channel::<()>();
            goes.push(go);
            let begun = begun.clone();
            disk.run_long(move || {
                begun.send(number).unwrap();
                let _ = wait.recv();
                Ok(number)
            })
        })
        .collect();
    let mut first = [begins.recv().unwrap(), begins.recv().unwrap()];
    first.sort_unstable();
    assert_eq!(first, [0, 1]);
    assert_eq!((disk.load().busy, disk.load().queued), (2, 3));
    // The queue for long jobs is full, which does not affect other jobs.
    assert_eq!(block_on(disk.run_long(|| Ok(5))), Err(StorageError::Busy));
    assert_eq!(block_on(disk.run(|| Ok(6))), Ok(6));
    assert!(begins.try_recv().is_err(), "a third long job has begun");
    drop(goes);
    assert_eq!(long.into_iter().map(|job| block_on(job).unwrap()).collect::<Vec<_>>(), [0, 1, 2, 3, 4]);
}

/// Returns whether this process has a removed file open that was at this path.
fn is_open(path: &Path) -> bool {
    let removed = format!("{} (deleted)", path.display());
    let descriptors = std::fs::read_dir("/proc/self/fd").unwrap();
    descriptors
        .filter_map(|fd| std::fs::read_link(fd.ok()?.path()).ok())
        .any(|to| to.as_os_str() == &*removed)
}

#[test]
fn a_removed_file_is_closed_by_a_thread_that_may_wait() {
    let directory = tempfile::tempdir().unwrap();
    let tree = tree(directory.path());
    let at = directory.path().canonicalize().unwrap().join("removed");
    std::fs::write(&at, "content").unwrap();
    let file = Arc::new(tree.open(&path("/removed")).unwrap());
    std::fs::remove_file(&at).unwrap();
    let (disk, go) = busy(0);
    let closing = Closing::new(Arc::clone(&file), Arc::clone(&tree), disk.clone());
    drop(file);
    drop(closing);
    assert!(is_open(&at));
    drop(go);
    block_on(disk.run_on(|| Ok(()))).unwrap();
    assert!(!is_open(&at));
}
