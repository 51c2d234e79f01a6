//! Tests of the desired state, which outlives the process that received it.

use std::fs;

use weir_fleet::{Wish, WishFile};
use weir_testkit::TempDir;

#[test]
fn a_wish_is_known_to_all_who_share_the_directory_and_to_those_that_come_later() {
    let directory = TempDir::new().unwrap();
    let place = directory.path().join("fleet");
    let (mut told, mut other) = (WishFile::new(&place), WishFile::new(&place));
    told.refresh().unwrap();
    assert_eq!(told.known(), Wish::default());
    for servers in [Some(3), Some(4), None] {
        let wish = Wish { paused: Some(true), servers };
        told.set(wish).unwrap();
        other.refresh().unwrap();
        assert_eq!(other.known(), wish);
    }
    other.set(Wish { paused: Some(false), servers: None }).unwrap();
    let mut later = WishFile::new(&place);
    later.refresh().unwrap();
    assert_eq!(later.known().paused, Some(false));
}

#[test]
fn what_is_no_wish_changes_nothing_and_is_read_again_until_it_is_one() {
    let directory = TempDir::new().unwrap();
    let mut file = WishFile::new(directory.path());
    let wish = Wish { paused: None, servers: Some(7) };
    file.set(wish).unwrap();
    fs::write(directory.path().join("other"), "seven").unwrap();
    fs::rename(directory.path().join("other"), directory.path().join("wish.json")).unwrap();
    for _ in 0..3 {
        assert!(file.refresh().unwrap_err().to_string().contains("wish.json"));
        assert_eq!((file.known(), file.is_read()), (wish, true));
    }
    // The same file is readable again after a temporary disk error.
    fs::write(directory.path().join("wish.json"), r#"{"servers": 8}"#).unwrap();
    file.refresh().unwrap();
    assert_eq!(file.known().servers, Some(8));
}

#[test]
fn a_wish_that_was_never_read_is_not_known() {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("wish.json");
    fs::write(&path, "").unwrap();
    let mut file = WishFile::new(directory.path());
    assert!(file.refresh().is_err() && !file.is_read());
    fs::remove_file(&path).unwrap();
    file.refresh().unwrap();
    assert!(file.is_read());
}

#[test]
fn a_wish_that_cannot_be_kept_counts_all_the_same() {
    let directory = TempDir::new().unwrap();
    fs::write(directory.path().join("file"), "").unwrap();
    let mut file = WishFile::new(&directory.path().join("file"));
    let wish = Wish { paused: Some(true), servers: None };
    assert!(file.set(wish).is_err());
    assert_eq!(file.known(), wish);
}

#[test]
fn a_wish_is_untold_until_others_were_told_and_counts_more_than_theirs_so_long() {
    let directory = TempDir::new().unwrap();
    let open = || WishFile::new(directory.path()).shared(true);
    let (paused, three) =
        (Wish { paused: Some(true), servers: None }, Wish { paused: None, servers: Some(3) });
    let mut file = open();
    file.refresh().unwrap();
    assert!(!file.is_untold());
    file.set(paused).unwrap();
    // The process is killed before it notifies the other processes.
    let mut file = open();
    file.refresh().unwrap();
    assert!(file.is_untold());
    let other = Wish { paused: Some(false), servers: None };
    file.heard(other).unwrap();
    file.told(other).unwrap();
    assert_eq!((file.known(), file.is_untold()), (paused, true));
    file.told(paused).unwrap();
    assert!(!file.is_untold());
    file.heard(three).unwrap();
    let mut later = open();
    later.refresh().unwrap();
    assert_eq!((later.known(), later.is_untold()), (three, false));
    // If all processes share a directory, no notification is necessary.
    let mut alone = WishFile::new(directory.path());
    alone.set(paused).unwrap();
    assert!(!alone.is_untold());
}

#[test]
fn what_was_not_changed_here_is_what_others_wish_when_they_are_told() {
    let directory = TempDir::new().unwrap();
    let open = || {
        let mut file = WishFile::new(directory.path()).shared(true);
        file.refresh().unwrap();
        file
    };
    let wish = |paused, servers| Wish { paused, servers };
    open().set(wish(None, Some(3))).unwrap();
    // The result is the same after a restart.
    let mut file = open();
    file.heard(wish(Some(true), None)).unwrap();
    assert_eq!((file.known(), file.is_untold()), (wish(Some(true), Some(3)), true));
    // Another command arrives during the notification.
    file.set(wish(Some(true), Some(4))).unwrap();
    file.told(wish(Some(true), Some(3))).unwrap();
    assert!(file.is_untold());
    let mut file = open();
    file.heard(wish(Some(false), Some(3))).unwrap();
    assert_eq!((file.known(), file.is_untold()), (wish(Some(false), Some(4)), true));
    file.told(file.known()).unwrap();
    assert!(!file.is_untold());
    // A withdrawal counts as a change. If the other processes report the same state, no notification is due.
    file.set(wish(Some(false), None)).unwrap();
    file.heard(wish(Some(true), Some(4))).unwrap();
    assert_eq!((file.known(), file.is_untold()), (wish(Some(true), None), true));
    file.heard(wish(Some(true), None)).unwrap();
    assert_eq!((file.known(), file.is_untold()), (wish(Some(true), None), false));
}
