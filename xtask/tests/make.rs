//! Runs targets of the Makefile with a program that only prints its arguments in place of `cargo`.

#![allow(clippy::unwrap_used, reason = "what goes wrong here fails the test")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

/// Directory with programs that only print how they were called, and an empty target directory.
struct Ground {
    at: TempDir,
}

impl Ground {
    fn new() -> Self {
        let ground = Self { at: tempfile::tempdir().unwrap() };
        ground.program("bin/cargo", "cargo");
        ground
    }

    /// Writes a program that prints `name` and its arguments.
    fn program(&self, path: &str, name: &str) -> PathBuf {
        let path = self.at.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        // Another process writes it: a child that another test starts meanwhile would inherit the open file,
        // and the program could not be run.
        let mut writer = Command::new("sh");
        writer.args(["-c", "printf '#!/bin/sh\\necho \"%s $*\"\\n' \"$1\" > \"$0\" && chmod 755 \"$0\""]);
        assert!(writer.arg(&path).arg(name).status().unwrap().success());
        path
    }

    /// Returns the output of `make`.
    fn make(&self, arguments: &[&str]) -> String {
        let repository = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
        let path = format!("{}:{}", self.at.path().join("bin").display(), std::env::var("PATH").unwrap());
        let mut make = Command::new("make");
        make.args(["--silent", "--directory"]).arg(repository).args(arguments).env("PATH", path);
        // A `make` that runs these tests sets variables for its child processes.
        make.env_remove("MAKEFLAGS")
            .env_remove("WEIR")
            .env("CARGO_TARGET_DIR", self.at.path().join("target"));
        let output = make.output().unwrap();
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).unwrap()
    }
}

#[test]
fn the_demo_says_what_its_build_takes_before_it_builds_for_the_first_time() {
    let ground = Ground::new();
    let said = ground.make(&["demo"]);
    let lines: Vec<_> = said.lines().collect();
    assert!(lines[0].starts_with("make demo builds Weir first."), "{said}");
    for (line, what) in lines[1..].iter().zip(["  time ", "  network ", "  disk "]) {
        assert!(line.starts_with(what), "{said}");
    }
    assert!(lines.last().unwrap().starts_with("cargo run --profile quick "), "{said}");
    assert!(lines.iter().all(|line| line.len() <= 120), "{said}");
    ground.program("target/quick/weir", "weir");
    let again = ground.make(&["demo"]);
    assert_eq!(again.lines().count(), 1, "{again}");
}

#[test]
fn the_demo_of_a_program_that_is_built_builds_nothing() {
    let ground = Ground::new();
    let weir = ground.program("weir", "weir");
    assert_eq!(ground.make(&["demo", &format!("WEIR={}", weir.display())]), "weir demo\n");
}

#[test]
fn targets_that_run_some_tests_have_them_counted() {
    let ground = Ground::new();
    let makefile = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../Makefile")).unwrap();
    // `cargo test` passes if no test has the name. `cargo xtask test` fails.
    let plain: Vec<_> =
        makefile.lines().filter(|line| line.contains("cargo test ") && line.contains(" -- ")).collect();
    assert!(plain.is_empty(), "{plain:#?}");
    let said = ground.make(&["--just-print", "test-rclone"]);
    let last = said.lines().last().unwrap();
    assert!(
        last.ends_with(" cargo xtask test --test storage -- --nocapture rclone_synchronises_many"),
        "{said}"
    );
}
