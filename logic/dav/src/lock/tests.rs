//! Tests of the lock table.

use proptest::prelude::*;

use super::*;
use crate::header::LockToken;
use crate::method::{Kind, Method};
use crate::path::{DavPath, PathLimits};

mod laws;

const NOW: u64 = 1_000;
const PRINCIPAL: &str = "ann";
const LIMITS: LockLimits = LockLimits { table_max: 1_000, principal_max: 1_000 };

fn path(text: &str) -> DavPath {
    DavPath::parse(text.as_bytes(), &PathLimits::default()).unwrap().path
}

fn token(number: u128) -> LockToken {
    LockToken::from_random(number)
}

/// Returns an exclusive lock of depth infinity that expires in ten seconds.
fn lock(number: u128, root: &str) -> Lock {
    Lock {
        token: token(number),
        root: path(root),
        collection: root.ends_with('/'),
        scope: Scope::Exclusive,
        infinite: true,
        owner: None,
        principal: PRINCIPAL.into(),
        expires_s: NOW + 10,
    }
}

fn shared(number: u128, root: &str) -> Lock {
    Lock { scope: Scope::Shared, ..lock(number, root) }
}

fn shallow(number: u128, root: &str) -> Lock {
    Lock { infinite: false, ..lock(number, root) }
}

fn table(locks: impl IntoIterator<Item = Lock>) -> LockTable {
    let mut table = LockTable::default();
    for lock in locks {
        table.lock(lock, NOW, LIMITS).unwrap();
    }
    table
}

fn missing(table: &LockTable, at: &str, change: Change, tokens: &[u128]) -> Vec<String> {
    let tokens: Vec<_> = tokens.iter().map(|number| token(*number)).collect();
    let tokens: Vec<_> = tokens.iter().collect();
    let submitted = Submitted { tokens: &tokens, principal: "ann" };
    table.missing(&path(at), change, submitted, NOW).iter().map(|(root, dir)| root.href(*dir)).collect()
}

#[test]
fn locks_exclude_each_other_along_the_tree() {
    for (held, wanted, conflict) in [
        (lock(1, "/a"), lock(2, "/a"), true),
        (lock(1, "/a"), shared(2, "/a"), true),
        (shared(1, "/a"), lock(2, "/a"), true),
        (shared(1, "/a"), shared(2, "/a"), false),
        (lock(1, "/a/"), lock(2, "/a/b/c"), true),
        (shallow(1, "/a/"), lock(2, "/a/b"), false),
        (lock(1, "/a/b/c"), lock(2, "/a/"), true),
        (lock(1, "/a/b/c"), shallow(2, "/a/"), false),
        (shared(1, "/a/b/c"), shared(2, "/a/"), false),
        (lock(1, "/a"), lock(2, "/ab"), false),
        (lock(1, "/"), lock(2, "/z"), true),
    ] {
        let mut table = table([held.clone()]);
        let expected =
            if conflict { Err(LockError::Conflict(vec![(held.root, held.collection)])) } else { Ok(()) };
        assert_eq!(table.lock(wanted.clone(), NOW, LIMITS), expected, "{wanted:?}");
    }
}

#[test]
fn a_conflict_says_where() {
    let mut table = table([lock(1, "/a/b/"), lock(2, "/a/c")]);
    let error = table.lock(lock(3, "/a/"), NOW, LIMITS).unwrap_err();
    let hrefs = vec!["/a/b/".to_owned(), "/a/c".to_owned()];
    assert_eq!(error.condition(), Some(crate::xml::Condition::NoConflictingLock(hrefs)));
    assert_eq!(error.outcome().status(), 423);
}

#[test]
fn a_lock_that_has_ended_below_asks_for_nothing() {
    let bobs = Lock { principal: "bob".into(), ..shared(2, "/") };
    let ended = Lock { expires_s: NOW, ..shared(3, "/a") };
    let table = table([Lock { infinite: false, ..shared(1, "/") }, bobs, ended]);
    assert_eq!(missing(&table, "/", Change::Remove, &[1]), [""; 0]);
}

#[test]
fn changes_need_the_locks_of_rfc_4918_section_7() {
    use Change::*;
    let table = table([shallow(1, "/dir/"), lock(2, "/dir/file"), lock(3, "/tree/"), shallow(4, "/x/y/z")]);
    for (at, change, tokens, wanting) in [
        // A lock of depth 0 on a collection protects its list of members, not the members.
        ("/dir/new", Create, &[][..], &["/dir/"][..]),
        ("/dir/new", Create, &[1], &[]),
        ("/dir/other", Modify, &[], &[]),
        ("/dir/other", Remove, &[], &["/dir/"]),
        ("/dir/sub/new", Create, &[], &[]),
        ("/dir", Modify, &[], &["/dir/"]),
        ("/dir/file", Modify, &[], &["/dir/file"]),
        ("/dir/file", Modify, &[1], &["/dir/file"]),
        ("/dir/file", Modify, &[2], &[]),
        ("/dir/file", Remove, &[2], &["/dir/"]),
        ("/dir/file", Remove, &[1, 2], &[]),
        ("/dir", Remove, &[], &["/dir/", "/dir/file"]),
        ("/dir", Remove, &[1], &["/dir/file"]),
        // A lock of depth infinity protects everything below.
        ("/tree/a/b", Modify, &[], &["/tree/"]),
        ("/tree/a/b", Create, &[3], &[]),
        ("/tree/a/b", Remove, &[3], &[]),
        ("/tree", Remove, &[3], &[]),
        ("/treetop", Create, &[], &[]),
        // A lock deep below is found.
        ("/x", Remove, &[], &["/x/y/z"]),
        ("/x", Modify, &[], &[]),
    ] {
        assert_eq!(missing(&table, at, change, tokens), wanting, "{change:?} {at} with {tokens:?}");
    }
}

#[test]
fn one_of_several_shared_locks_is_enough_and_only_its_maker_has_it() {
    let other = Lock { principal: "bob".into(), ..shared(2, "/a") };
    let table = table([shared(1, "/a"), other]);
    assert_eq!(missing(&table, "/a", Change::Modify, &[1]), [""; 0]);
    assert_eq!(missing(&table, "/a", Change::Modify, &[2]), ["/a"]);
    assert_eq!(missing(&table, "/a", Change::Modify, &[]), ["/a"]);
}

#[test]
fn methods_change_what_they_say() {
    let (a, b) = (path("/a"), path("/b"));
    use Change::*;
    use Kind::*;
    for (method, kind, destination, changed) in [
        (Method::Put, Missing, None, vec![(&a, Create)]),
        (Method::Put, File, None, vec![(&a, Modify)]),
        (Method::Put, Collection, None, vec![]),
        (Method::Mkcol, Missing, None, vec![(&a, Create)]),
        (Method::Mkcol, File, None, vec![]),
        (Method::Proppatch, Collection, None, vec![(&a, Modify)]),
        (Method::Delete, Collection, None, vec![(&a, Remove)]),
        (Method::Lock, Missing, None, vec![(&a, Create)]),
        (Method::Lock, File, None, vec![]),
        (Method::Copy, File, Some((&b, Missing)), vec![(&b, Create)]),
        (Method::Copy, File, Some((&b, File)), vec![(&b, Remove)]),
        (Method::Move, File, Some((&b, Missing)), vec![(&a, Remove), (&b, Create)]),
        (Method::Move, Collection, Some((&b, Collection)), vec![(&a, Remove), (&b, Remove)]),
        (Method::Get, File, None, vec![]),
        (Method::Unlock, File, None, vec![]),
    ] {
        let changed: Vec<_> = changed.into_iter().map(|(path, change)| (path.clone(), change)).collect();
        assert_eq!(changes(method, (&a, kind), destination), changed, "{method} {kind:?}");
    }
}

#[test]
fn a_lock_is_refreshed_and_taken_away_by_its_maker_from_where_it_covers() {
    let mut table = table([lock(1, "/a/")]);
    let (a, deep, b, one) = (path("/a"), path("/a/b"), path("/b"), token(1));
    assert_eq!(table.refresh(&deep, &one, "ann", 60, NOW + 5).map(|lock| lock.expires_s), Ok(NOW + 65));
    assert_eq!(table.next_end_s(), Some(NOW + 65));
    assert_eq!(table.refresh(&a, &one, "bob", 60, NOW), Err(LockError::NotOwner));
    assert_eq!(table.refresh(&b, &one, "ann", 60, NOW), Err(LockError::NoSuchLock));
    assert_eq!(table.unlock(&b, &one, Some("ann"), NOW), Err(LockError::NoSuchLock));
    assert_eq!(table.unlock(&a, &token(2), Some("ann"), NOW), Err(LockError::NoSuchLock));
    assert_eq!(table.unlock(&a, &one, Some("bob"), NOW), Err(LockError::NotOwner));
    assert!(table.clone().unlock(&deep, &one, None, NOW).is_ok());
    assert!(table.unlock(&deep, &one, Some("ann"), NOW).is_ok());
    assert!(table.is_empty());
}

#[test]
fn a_lock_that_has_ended_counts_nowhere() {
    let mut table = table([lock(1, "/a")]);
    let (a, end) = (path("/a"), NOW + 10);
    assert_eq!(table.locks_on(&a, end - 1).count(), 1);
    assert_eq!(table.locks_on(&a, end).count(), 0);
    assert!(!table.is_locked_by(&a, &token(1), end));
    assert_eq!(table.refresh(&a, &token(1), "ann", 60, end), Err(LockError::NoSuchLock));
    assert_eq!(
        table.lock(Lock { expires_s: end + 10, ..lock(2, "/a") }, end, LockLimits { table_max: 1, ..LIMITS }),
        Ok(())
    );
    assert_eq!(table.len(), 1);
    assert_eq!(table.expire(end + 10).len(), 1);
    assert_eq!((table.is_empty(), table.next_end_s()), (true, None));
}

#[test]
fn the_table_is_bounded_and_tokens_are_unique() {
    let mut table = table([lock(1, "/a")]);
    assert_eq!(table.lock(lock(1, "/b"), NOW, LIMITS), Err(LockError::TokenTaken));
    assert_eq!(
        table.lock(lock(2, "/b"), NOW, LockLimits { table_max: 1, ..LIMITS }),
        Err(LockError::TooMany)
    );
}

#[test]
fn one_principal_has_so_many_locks_and_leaves_room_for_others() {
    let limits = LockLimits { principal_max: 2, ..LIMITS };
    let mut table = table([lock(1, "/a"), lock(2, "/b")]);
    assert_eq!(table.lock(lock(3, "/c"), NOW, limits), Err(LockError::TooManyOfPrincipal));
    let other = Lock { principal: "other".into(), ..lock(4, "/c") };
    assert_eq!(table.lock(other, NOW, limits), Ok(()));
    // A refresh is not another lock; an unlock or an expiry makes room.
    table.refresh(&path("/a"), &token(1), PRINCIPAL, 5, NOW).unwrap();
    assert_eq!(table.lock(lock(5, "/d"), NOW, limits), Err(LockError::TooManyOfPrincipal));
    table.unlock(&path("/b"), &token(2), None, NOW).unwrap();
    assert_eq!(table.lock(lock(5, "/d"), NOW, limits), Ok(()));
    assert_eq!(table.lock(Lock { expires_s: NOW + 20, ..lock(6, "/e") }, NOW + 5, limits), Ok(()));
    assert_eq!((table.held_by(PRINCIPAL), table.held_by("other"), table.held_by("nobody")), (2, 1, 0));
}

#[test]
fn an_operator_breaks_locks_of_anybody() {
    let mut table = table([lock(1, "/a"), shallow(2, "/b"), lock(3, "/b/c")]);
    table.take_changes();
    let broken = table.break_locks(|lock| lock.root.starts_with(&path("/b")));
    assert_eq!(broken.len(), 2);
    let gone = [TableChange::Remove(token(2)), TableChange::Remove(token(3))];
    assert_eq!(table.take_changes(), gone);
    assert!(table.has_at_or_below(&path("/")) && table.has_at_or_below(&path("/a")));
    assert!(!table.has_at_or_below(&path("/b")) && !table.has_at_or_below(&path("/a/x")));
}

#[test]
fn a_deleted_tree_takes_its_locks_along_and_an_overwritten_one_keeps_its_own() {
    let roots = |table: &LockTable| table.iter().map(|lock| lock.root.href(false)).collect::<Vec<_>>();
    let full =
        table([shallow(1, "/a"), shallow(2, "/a/b"), lock(3, "/a/b/c"), lock(4, "/a/bc"), shallow(5, "/")]);
    let mut deleted = full.clone();
    assert_eq!(deleted.forget(&path("/a/b")).len(), 2);
    assert_eq!(roots(&deleted), ["/", "/a", "/a/bc"]);
    let mut overwritten = full;
    assert_eq!(overwritten.forget_below(&path("/a/b")).len(), 1);
    assert_eq!(roots(&overwritten), ["/", "/a", "/a/b", "/a/bc"]);
}

#[test]
fn a_resource_has_no_more_locks_than_can_be_told() {
    let mut table = LockTable::default();
    for number in 0..100 {
        assert_eq!(table.lock(shared(number, "/a"), NOW, LIMITS), Ok(()));
    }
    assert_eq!(table.lock(shared(100, "/a"), NOW, LIMITS), Err(LockError::TooMany));
    assert_eq!(table.lock(shared(101, "/b"), NOW, LIMITS), Ok(()));
    // Expired locks make room.
    assert_eq!(table.lock(Lock { expires_s: NOW + 20, ..shared(102, "/a") }, NOW + 10, LIMITS), Ok(()));
}
