//! Tests of gates, which may stop a change at the last moment.

use std::cell::Cell;
use std::fs;
use std::path::Path;
use std::sync::Arc;

use weir_storage::{CopyOptions, Durability, Gate, Step, StorageError, Swept, Tree};

use crate::support::*;

const OVERWRITE: CopyOptions = CopyOptions { deep: true, overwrite: true, durability: Durability::None };

type Change = fn(&Arc<Tree>, &mut Gate<'_>) -> Result<(), StorageError>;

/// Changes with the file that each removes or replaces.
const CHANGES: [(&str, &str, Change); 6] = [
    ("remove a file", "a/1", |tree, gate| remove(tree, "/a/1", gate)),
    ("remove a directory", "a/1", |tree, gate| remove(tree, "/a", gate)),
    ("move a file", "a/1", |tree, gate| rename(tree, "/a/1", "/f", gate)),
    ("move a directory over another", "d/1", |tree, gate| rename(tree, "/a", "/d", gate)),
    ("copy a file", "f", |tree, gate| copy(tree, "/a/1", "/f", gate)),
    ("copy a directory over another", "d/1", |tree, gate| copy(tree, "/a", "/d", gate)),
];

fn remove(tree: &Arc<Tree>, at: &str, gate: &mut Gate<'_>) -> Result<(), StorageError> {
    tree.remove_through(&path(at), Durability::None, gate).map_err(|failure| failure.error)
}

fn rename(tree: &Arc<Tree>, from: &str, to: &str, gate: &mut Gate<'_>) -> Result<(), StorageError> {
    let renamed = tree.rename_through(&path(from), &path(to), OVERWRITE, &GO_ON, &mut |step, _| gate(step));
    renamed.map(|_| ()).map_err(|failure| failure.error)
}

fn copy(tree: &Arc<Tree>, from: &str, to: &str, gate: &mut Gate<'_>) -> Result<(), StorageError> {
    let copied = tree.copy_through(&path(from), &path(to), OVERWRITE, &mut |_, _| true, &GO_ON, gate);
    copied.map(|_| ()).map_err(|failure| failure.error)
}

fn world() -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    for name in ["a/1", "d/1", "f"] {
        let file = directory.path().join(name);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, name).unwrap();
    }
    directory
}

fn is_untouched(root: &Path) -> bool {
    ["a/1", "d/1", "f"]
        .iter()
        .all(|name| fs::read(root.join(name)).is_ok_and(|found| found == name.as_bytes()))
}

#[test]
fn a_closed_gate_leaves_everything_as_it_was() {
    for (what, _, change) in CHANGES {
        let directory = world();
        let tree = tree(directory.path());
        let mut closed = |_: &mut Step<'_>| Err(StorageError::Changed);
        assert_eq!(change(&tree, &mut closed), Err(StorageError::Changed), "{what}");
        assert!(is_untouched(directory.path()), "{what}");
        let hidden = raw_names(directory.path());
        let hidden: Vec<_> =
            hidden.iter().filter(|name| name.starts_with(".weir-") && *name != ".weir-store").collect();
        assert!(hidden.is_empty(), "{what}: {hidden:?}");
    }
}

#[test]
fn a_change_is_seen_when_the_gate_lets_it_and_not_before() {
    for (what, victim, change) in CHANGES {
        let directory = world();
        let tree = tree(directory.path());
        let asked = Cell::new(0);
        let mut open = |step: &mut Step<'_>| {
            asked.set(asked.get() + 1);
            assert!(is_untouched(directory.path()), "{what}");
            step()?;
            let now = fs::read(directory.path().join(victim)).ok();
            assert!(now.is_none_or(|now| now != victim.as_bytes()), "{what}");
            Ok(())
        };
        assert_eq!(change(&tree, &mut open), Ok(()), "{what}");
        assert_eq!(asked.get(), 1, "{what}");
        let hidden = raw_names(directory.path());
        assert!(!hidden.iter().any(|name| name.starts_with(".weir-old~")), "{what}: {hidden:?}");
        assert!(temporaries(directory.path()).is_empty(), "{what}");
    }
}

#[test]
fn a_directory_that_came_when_a_move_was_ready_stays_with_all_that_is_in_it() {
    for (from, to) in [("a", "d"), ("f", "d"), ("a", "f")] {
        let directory = world();
        let root = directory.path();
        let tree = tree(root);
        let mut meanwhile = |step: &mut Step<'_>| {
            fs::rename(root.join(to), root.join("elsewhere")).unwrap();
            fs::create_dir(root.join(to)).unwrap();
            fs::write(root.join(to).join("member"), "kept").unwrap();
            step()
        };
        let moved = rename(&tree, &format!("/{from}"), &format!("/{to}"), &mut meanwhile);
        assert_eq!(moved, Err(StorageError::Exists), "{from} to {to}");
        assert_eq!(fs::read(root.join(to).join("member")).unwrap(), b"kept", "{from} to {to}");
        assert!(root.join(from).exists(), "{from} to {to}");
        let hidden = raw_names(root);
        assert!(!hidden.iter().any(|name| name.starts_with(".weir-old~")), "{from} to {to}: {hidden:?}");
    }
}

#[test]
fn a_directory_that_was_replaced_goes_with_the_next_start_if_its_node_died_before_it_could_remove_it() {
    let directory = world();
    let root = directory.path();
    let died = tree(root);
    // A process that is killed right after the step leaves the same state.
    let mut done_for = |step: &mut Step<'_>| {
        step()?;
        Err(StorageError::Changed)
    };
    assert_eq!(rename(&died, "/a", "/d", &mut done_for), Err(StorageError::Changed));
    drop(died);
    let holders = |root: &Path| {
        let names = raw_names(root);
        names.into_iter().filter(|name| name.starts_with(".weir-old~")).collect::<Vec<_>>()
    };
    assert_eq!(holders(root).len(), 1);
    let next = Tree::open_root(root, options("one", 2)).unwrap();
    sweep_to(&next, Swept { removed: 1, kept: 0 });
    assert_eq!(fs::read(root.join("d/1")).unwrap(), b"a/1");
    assert!(!root.join("a").exists() && holders(root).is_empty() && temporaries(root).is_empty());
}

#[test]
fn a_directory_that_made_room_stays_if_something_else_has_come_in_its_place() {
    let directory = world();
    let root = directory.path();
    let died = tree(root);
    let mut done_for = |step: &mut Step<'_>| {
        step()?;
        Err(StorageError::Changed)
    };
    assert_eq!(rename(&died, "/a", "/d", &mut done_for), Err(StorageError::Changed));
    drop(died);
    fs::rename(root.join("d"), root.join("elsewhere")).unwrap();
    fs::create_dir(root.join("d")).unwrap();
    let next = Tree::open_root(root, options("one", 2)).unwrap();
    sweep_to(&next, Swept { removed: 0, kept: 1 });
    fs::remove_dir(root.join("d")).unwrap();
    sweep_to(&next, Swept { removed: 1, kept: 0 });
    assert_eq!(fs::read(root.join("d/1")).unwrap(), b"d/1");
}
