//! Tests with a process that is killed during a change.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Command, Stdio};

use weir_storage::{Commit, CopyOptions, Durability, Tree, Upload};

use crate::support::*;

const ROOT: &str = "WEIR_TEST_CRASH_ROOT";
const BOOT: &str = "WEIR_TEST_CRASH_BOOT";
const BYTES: usize = 256 << 10;
const ROUNDS: u64 = 25;
/// Changes in one turn: PUT, two COPYs and a MOVE.
const CHANGES_PER_TURN: u64 = 4;
/// Smallest number of turns of a child process, which is killed in the last one.
const TURNS_MIN: u64 = 11;
const _: () = assert!(ROUNDS * (TURNS_MIN - 1) * CHANGES_PER_TURN >= 1_000, "too few changes are made");

/// Runs in the child process of the next test until that is killed; it is not a test of its own.
#[test]
#[ignore = "the child of another test"]
fn busy_child() {
    let Some(root) = std::env::var_os(ROOT).map(PathBuf::from) else { return };
    let boot = std::env::var(BOOT).unwrap().parse().unwrap();
    let tree = Tree::open_root(&root, options("one", boot)).unwrap();
    let disk = disk();
    // The parent kills this process right after one of these lines.
    let begins = |turn: u64, change: u64| {
        println!("turn {turn} change {change}");
        std::io::stdout().flush().unwrap();
    };
    for turn in 0_u64.. {
        let durability = match turn % 3 {
            0 => Durability::None,
            1 => Durability::Data,
            _ => Durability::Full,
        };
        let copy = CopyOptions { deep: true, overwrite: true, durability };
        let letter = b'a' + u8::try_from(turn % 26).unwrap();
        begins(turn, 0);
        let mut upload = Upload::begin(&tree, &disk, &path("/put"), &[], None).unwrap();
        for _ in 0..4 {
            upload.write(&vec![letter; BYTES / 4]).unwrap();
        }
        upload.commit(Commit { durability, ..COMMIT }).unwrap();
        begins(turn, 1);
        tree.copy(&path("/put"), &path("/copied"), copy, &mut |_, _| true, &GO_ON).unwrap();
        begins(turn, 2);
        tree.copy(&path("/directory"), &path("/moved"), copy, &mut |_, _| true, &GO_ON).unwrap();
        begins(turn, 3);
        tree.rename(&path("/copied"), &path("/directory/in"), true, durability, &GO_ON).unwrap();
    }
}

#[test]
fn a_process_that_is_killed_leaves_every_file_whole_or_absent() {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path().join("root");
    fs::create_dir_all(root.join("directory")).unwrap();
    for round in 1..=ROUNDS {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "crash::busy_child", "--ignored", "--nocapture"])
            .env(ROOT, &root)
            .env(BOOT, round.to_string())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        // Kills the process during each kind of change and at each durability.
        let (last, change) = (TURNS_MIN - 1 + round % 3, round % CHANGES_PER_TURN);
        let expected = format!("turn {last} change {change}");
        while !lines.next().unwrap().unwrap().ends_with(&expected) {}
        child.kill().unwrap();
        child.wait().unwrap();

        let tree = Tree::open_root(&root, options("one", 1_000 + round)).unwrap();
        for file in ["/put", "/copied", "/directory/in", "/moved/in"] {
            match get(&tree, file) {
                Ok(content) => assert!(
                    content.len() == BYTES && content.iter().all(|byte| *byte == content[0]),
                    "{file} is torn: {} bytes",
                    content.len()
                ),
                Err(error) => assert_eq!(error, weir_storage::StorageError::NotFound, "{file}"),
            }
        }
        // Each turn has written the file at least once.
        assert!(tree.metadata(&path("/put")).is_ok());
        tree.sweep().unwrap();
        assert_eq!(temporaries(&root), Vec::<String>::new(), "round {round}");
    }
}
