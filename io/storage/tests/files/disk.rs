use std::io::Read;
use std::sync::mpsc;
use std::time::Duration;

use weir_storage::{Disk, StorageError};

use crate::support::*;

#[test]
fn an_area_whose_disk_hangs_says_so_at_once_and_others_go_on() {
    let directory = tempfile::tempdir().unwrap();
    let fifo = directory.path().join("fifo");
    assert!(std::process::Command::new("mkfifo").arg(&fifo).status().unwrap().success());
    let (hung, well) = (Disk::new("hung", 2, 3), Disk::new("well", 2, 3));
    // A FIFO without a writer is a call that does not come back, as of a dead mount.
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
    // What was accepted is done when the disk comes back.
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
    // The writer may be waiting for a reader that never comes; it ends with the process.
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
