//! Tests of the journal and of leases in files.

use std::fs::OpenOptions;
use std::io::Write;

use weir_fleet::{Action, Journal, Lease, LeaseError, MachineId, Outcome};
use weir_testkit::TempDir;

use crate::tools::token;

fn stop(id: &str) -> Action {
    Action::Stop(MachineId(id.to_owned()))
}

fn open_actions(journal: &Journal) -> Vec<Action> {
    journal.open_intents().map(|intent| intent.action.clone()).collect()
}

#[test]
fn what_was_begun_and_not_ended_is_open_after_a_restart() {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("journal");
    let mut journal = Journal::open(&path, 1).unwrap();
    let begun = journal.begin(7, [Action::Create(token("web-1")), stop("b"), stop("c")]).unwrap();
    journal.end(8, [(begun[1].seq, Outcome::Done(MachineId("b".to_owned())))]).unwrap();

    let journal = Journal::open(&path, 2).unwrap();
    assert_eq!(open_actions(&journal), [Action::Create(token("web-1")), stop("c")]);
    assert_eq!(journal.open_intents().map(|intent| intent.at_ms).collect::<Vec<_>>(), [7, 7]);
    assert_eq!(journal.damaged(), None);
}

#[test]
fn numbers_are_never_used_twice() {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("journal");
    let mut last = 0;
    for epoch in 1..4 {
        let mut journal = Journal::open(&path, epoch).unwrap();
        for intent in journal.begin(0, [stop("a"), stop("b")]).unwrap() {
            assert!(intent.seq > last);
            last = intent.seq;
            journal.end(0, [(intent.seq, Outcome::Abandoned)]).unwrap();
        }
    }
}

#[test]
fn a_last_line_that_is_not_whole_is_cut_off() {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("journal");
    Journal::open(&path, 1).unwrap().begin(0, [stop("a")]).unwrap();
    let mut file = OpenOptions::new().append(true).open(&path).unwrap();
    file.write_all(b"{\"seq\":2,\"at_ms\":0,\"epoch\":1,\"begin\":{\"st").unwrap();

    let mut journal = Journal::open(&path, 2).unwrap();
    assert_eq!(journal.damaged(), None);
    journal.begin(0, [stop("b")]).unwrap();
    assert_eq!(open_actions(&Journal::open(&path, 3).unwrap()), [stop("a"), stop("b")]);
}

#[test]
fn a_damaged_journal_is_put_aside_and_what_could_be_read_of_it_is_kept() {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("journal");
    Journal::open(&path, 1).unwrap().begin(0, [stop("a")]).unwrap();
    let mut file = OpenOptions::new().append(true).open(&path).unwrap();
    file.write_all(b"\0\0\0\0\n{}\n").unwrap();

    let journal = Journal::open(&path, 2).unwrap();
    assert_eq!(open_actions(&journal), [stop("a")]);
    let aside = journal.damaged().expect("the old file is kept");
    assert!(std::fs::read(aside).unwrap().ends_with(b"{}\n"));
    assert_eq!(Journal::open(&path, 3).unwrap().damaged(), None);
}

#[test]
fn a_journal_does_not_grow_with_what_has_ended() {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("journal");
    let mut journal = Journal::open(&path, 1).unwrap();
    for _ in 0..20 {
        let begun = journal.begin(0, (0..1000).map(|_| stop("a-machine"))).unwrap();
        journal.end(0, begun.iter().map(|intent| (intent.seq, Outcome::Abandoned))).unwrap();
    }
    assert!(std::fs::metadata(&path).unwrap().len() < 2 << 20);
    let kept = journal.begin(0, [stop("b")]).unwrap();
    assert_eq!(kept[0].seq, 20_001);
    assert_eq!(open_actions(&Journal::open(&path, 2).unwrap()), [stop("b")]);
}

#[test]
fn one_holds_the_lease_and_the_next_has_a_higher_epoch() {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("lease");
    let first = Lease::acquire(&path).unwrap();
    assert!(matches!(Lease::acquire(&path), Err(LeaseError::Held)));
    let epoch = first.epoch();
    drop(first);
    assert!(Lease::acquire(&path).unwrap().epoch() > epoch);
}

#[test]
fn a_lease_whose_lock_was_removed_is_lost() {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("lease");
    let first = Lease::acquire(&path).unwrap();
    std::fs::remove_file(&path).unwrap();
    assert!(matches!(first.check(), Err(LeaseError::Lost(_))));
    // Another process acquires the lease; the first lease stays lost.
    let second = Lease::acquire(&path).unwrap();
    assert!(second.epoch() > first.epoch());
    assert!(second.check().is_ok());
    assert!(matches!(first.check(), Err(LeaseError::Lost(_))));
}
