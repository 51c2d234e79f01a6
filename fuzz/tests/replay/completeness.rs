//! Checks that all lists name the same targets. Otherwise a missing target would not be fuzzed, and no test
//! would fail.

use std::fs;
use std::path::Path;

use weir_fuzz::TARGETS;

use crate::fuzz_target::TESTED;

fn package() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn sorted(names: impl IntoIterator<Item = impl Into<String>>) -> Vec<String> {
    let mut names: Vec<String> = names.into_iter().map(Into::into).collect();
    names.sort();
    names
}

/// Returns the names of the targets, sorted.
fn expected() -> Vec<String> {
    sorted(TARGETS.iter().map(|(name, _)| *name))
}

/// Returns the file names in a directory, without extension.
fn names_in(directory: &str) -> Vec<String> {
    let entries = fs::read_dir(package().join(directory)).unwrap();
    sorted(entries.map(|entry| entry.unwrap().path().file_stem().unwrap().to_str().unwrap().to_owned()))
}

#[test]
fn every_target_has_a_test_here() {
    assert_eq!(sorted(TESTED.iter().copied()), expected(), "fuzz/tests/replay/fuzz_target.rs, TARGETS");
}

#[test]
fn every_module_is_a_target() {
    let modules = names_in("src").into_iter().filter(|name| name != "lib");
    assert_eq!(sorted(modules), expected(), "fuzz/src, TARGETS");
}

#[test]
fn every_target_has_a_corpus() {
    assert_eq!(names_in("corpus"), expected(), "fuzz/corpus, TARGETS");
    for name in expected() {
        let directory = format!("corpus/{name}");
        assert!(!names_in(&directory).is_empty(), "fuzz/{directory} has no file: add a valid input");
    }
}

#[test]
fn every_target_has_a_libfuzzer_program_of_its_own() {
    let manifest: toml::Table = fs::read_to_string(package().join("Cargo.toml")).unwrap().parse().unwrap();
    let programs = manifest["bin"].as_array().unwrap();
    let names = programs.iter().map(|program| program["name"].as_str().unwrap());
    assert_eq!(sorted(names), expected(), "[[bin]] of fuzz/Cargo.toml, TARGETS");
    for program in programs {
        let (name, path) = (program["name"].as_str().unwrap(), program["path"].as_str().unwrap());
        let text = fs::read_to_string(package().join(path)).unwrap();
        assert!(text.contains(&format!(" weir_fuzz::{name}::run(")), "fuzz/{path} does not run {name}");
    }
    assert_eq!(names_in("targets"), expected(), "fuzz/targets, TARGETS");
}
