//! Runs litmus, the test suite for WebDAV servers.

use std::process::Command;

use weir_testkit::TempDir;

use crate::Site;

/// Runs one litmus suite against a new area. Every test must pass, none may be skipped or give warnings.
#[track_caller]
fn passes(suite: &str, tests: usize) {
    let site = Site::open("");
    let directory = TempDir::new().unwrap();
    let litmus = Command::new("litmus")
        .arg(format!("http://{}/", site.weir.addr("web")))
        .env("TESTS", suite)
        // litmus writes a log to its working directory.
        .current_dir(directory.path())
        .output()
        .unwrap_or_else(|error| panic!("litmus: {error}: is it installed? `scripts/setup test`"));
    let told = String::from_utf8_lossy(&litmus.stdout);
    let summary = format!("of {tests} tests run: {tests} passed, 0 failed. 100.0%");
    let is_well = told.contains(&summary) && !told.contains("WARNING") && !told.contains("SKIPPED");
    assert!(litmus.status.success() && is_well, "{told}");
}

#[test]
fn the_suite_of_basic_methods_passes() {
    passes("basic", 16);
}

#[test]
fn the_suite_of_copies_and_moves_passes() {
    passes("copymove", 13);
}

#[test]
fn the_suite_of_properties_passes() {
    passes("props", 30);
}

#[test]
fn the_suite_of_locks_passes() {
    passes("locks", 41);
}

#[test]
fn the_suite_of_http_passes() {
    passes("http", 4);
}
