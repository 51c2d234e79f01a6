//! Tests that the real program, built without some of its default Cargo features, names the features that it
//! lacks.
//!
//! Each test needs a build without its feature: `cargo test --profile quick -p weir --no-default-features
//! --test lean`. The profile is a separate one, so that `target/debug/weir` stays the complete program.
#![cfg(not(all(
    feature = "cedar",
    feature = "cel",
    feature = "lab",
    feature = "simulate",
    feature = "sqlite"
)))]
#![allow(clippy::unwrap_used, reason = "a test that cannot be set up has failed")]

use std::fs;
use std::process::{Command, Output};

use weir_testkit::TempDir;

fn weir(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_weir")).args(arguments).output().unwrap()
}

fn err(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Asserts that every call of the verb, also for help, says how to get it.
#[cfg(not(all(feature = "lab", feature = "simulate")))]
#[track_caller]
fn assert_absent(verb: &[&str], feature: &str) {
    let name = verb.join(" ");
    let expected = format!(
        "weir {name}: this build of weir has no `{name}`: build it with `make release`, or with the Cargo feature `{feature}`\n"
    );
    for arguments in [&[][..], &["--help"], &["run", "--seconds", "3", "a.toml"], &["--version"]] {
        let output = weir(&[verb, arguments].concat());
        assert_eq!((output.status.code(), err(&output)), (Some(2), expected.clone()), "{arguments:?}");
    }
}

#[test]
#[cfg(not(feature = "lab"))]
fn the_verbs_of_the_lab_say_how_to_get_them() {
    for verb in ["lab", "load", "watch"] {
        assert_absent(&[verb], "lab");
    }
}

#[test]
#[cfg(not(feature = "simulate"))]
fn the_simulator_says_how_to_get_it() {
    assert_absent(&["simulate"], "simulate");
    assert_absent(&["fleet", "backtest"], "simulate");
}

#[test]
#[cfg(not(feature = "lab"))]
fn help_lists_the_verbs_that_are_not_there() {
    let help = String::from_utf8(weir(&["--help"]).stdout).unwrap();
    let line = help.lines().find(|line| line.trim_start().starts_with("lab ")).unwrap_or_default();
    assert!(line.ends_with("Not in this build; says how to get it"), "{help}");
}

#[test]
fn the_version_names_the_features_that_are_not_there() {
    let version = String::from_utf8(weir(&["--version"]).stdout).unwrap();
    let (_, lacking) = version.trim().split_once(", built without ").unwrap();
    let features = [
        ("cedar", cfg!(feature = "cedar")),
        ("cel", cfg!(feature = "cel")),
        ("lab", cfg!(feature = "lab")),
        ("simulate", cfg!(feature = "simulate")),
        ("sqlite", cfg!(feature = "sqlite")),
    ];
    let expected: Vec<&str> = features.iter().filter(|(_, there)| !there).map(|(name, _)| *name).collect();
    assert_eq!(lacking, expected.join(", "));
}

/// Returns the errors of `weir check` about a config that ends with `config`. The check must exit with 1.
#[cfg(not(all(feature = "cedar", feature = "cel", feature = "sqlite")))]
fn refusal(config: &str) -> String {
    let directory = TempDir::new().unwrap();
    let file = directory.path().join("weir.toml");
    let root = directory.path().display();
    let start = "[listener.web]\nbind = \"127.0.0.1:0\"\npool = \"web\"\n\n[pool.web]\ncheck = \"GET /health\"\nservers = \"127.0.0.1:1\"\n";
    fs::write(&file, format!("{start}\n{}", config.replace("ROOT", &root.to_string()))).unwrap();
    let output = weir(&["check", file.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(1), "{}", err(&output));
    err(&output)
}

#[test]
#[cfg(not(feature = "cedar"))]
fn cedar_policies_are_an_error_of_the_config() {
    let said = refusal(
        "[[route]]\npath = \"/data\"\nstorage = \"data\"\n\n[storage-area.data]\nroot = \"ROOT\"\naccess-points = \"/data\"\n\n\
         [storage-area.data.access]\ncedar = \"ROOT/none.cedar\"\n",
    );
    let message = "storage area data: cedar: this build of weir has no Cedar policies: build it with `make release`, or with the \
                   Cargo feature `cedar`";
    assert!(said.contains(message) && said.contains("cedar = "), "{said}");
    assert!(!said.contains("No such file"), "{said}");
}

#[test]
#[cfg(not(feature = "cel"))]
fn an_expression_is_an_error_of_the_config() {
    let said = refusal("[[route]]\nwhen = \"method == 'GET'\"\npool = \"web\"\n");
    let message = "this build of weir has no CEL expressions: build it with `make release`, or with the Cargo feature `cel`";
    assert!(said.contains(message) && said.contains("when = "), "{said}");
}

#[test]
#[cfg(not(feature = "sqlite"))]
fn a_history_in_a_database_is_an_error_of_the_config() {
    let said = refusal(
        "[fleet.app]\npool = \"web\"\nmax = 2\ncapacity = 10\ndirectory = \"ROOT/fleet\"\nhistory = [\"ROOT/a.csv\", \"ROOT/a.sqlite\"]\n\n\
         [fleet.app.process]\ncommand = [\"/bin/true\"]\n",
    );
    let message = "fleet app: history: this build of weir has no SQLite: build it with `make release`, or with the Cargo \
                   feature `sqlite`";
    assert!(said.contains(message) && said.contains("history = "), "{said}");
}
