//! Tests that generated documents are up to date with the code.

#![allow(clippy::unwrap_used)]

use std::path::Path;
use std::process::Command;

#[test]
fn the_reference_page_of_the_config_is_up_to_date() {
    is_up_to_date("config.md", &weir_config::reference());
}

#[test]
fn the_reference_page_of_the_algorithms_is_up_to_date() {
    is_up_to_date("algorithms.md", &weir_balance::reference());
}

#[test]
fn the_reference_page_of_the_scenario_file_is_up_to_date() {
    is_up_to_date("simulate.md", &weir_config::simulation::reference());
}

#[test]
fn the_reference_page_of_the_lab_is_up_to_date() {
    is_up_to_date("lab.md", &weir_config::lab::reference());
}

#[test]
fn the_reference_page_of_scaling_rules_is_up_to_date() {
    is_up_to_date("scaling.md", &weir_config::scaling::reference());
}

#[test]
fn the_reference_page_of_the_command_line_is_up_to_date() {
    let mut page = "# Command line\n\n\
                    <!-- Made from what the program says. After a change: WEIR_UPDATE_DOCS=1 cargo test -p weir --test documents -->\n\n\
                    What `weir VERB --help` says, of every verb.\n"
        .to_owned();
    describe(&mut Vec::new(), &mut page);
    is_up_to_date("command-line.md", &page);
}

#[test]
fn the_manual_page_names_every_verb() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../packaging/weir.8");
    let page = std::fs::read_to_string(path).unwrap();
    let verbs = verbs_in(&help(&[]));
    assert!(verbs.len() > 10, "{verbs:?}");
    for verb in verbs {
        let is_there = page
            .lines()
            .any(|line| [format!(".B {verb}"), format!(".BI {verb}")].iter().any(|it| line.starts_with(it)));
        assert!(is_there, "{verb}");
    }
}

/// Appends the help of these verbs, and of those below them, to the page.
fn describe(verbs: &mut Vec<String>, page: &mut String) {
    let help = help(verbs);
    let level = "#".repeat((verbs.len() + 1).clamp(2, 4));
    let lines: Vec<&str> = help.lines().map(str::trim_end).collect();
    let name = ["weir"].into_iter().chain(verbs.iter().map(String::as_str)).collect::<Vec<_>>().join(" ");
    page.push_str(&format!("\n{level} {name}\n\n```text\n{}\n```\n", lines.join("\n").trim()));
    for verb in verbs_in(&help) {
        verbs.push(verb);
        describe(verbs, page);
        verbs.pop();
    }
}

fn help(verbs: &[String]) -> String {
    // Help would show the values of environment variables.
    let help =
        Command::new(env!("CARGO_BIN_EXE_weir")).args(verbs).arg("--help").env_clear().output().unwrap();
    assert!(help.status.success(), "{verbs:?}");
    String::from_utf8(help.stdout).unwrap()
}

/// Returns the verbs that a help text lists, except `help`.
fn verbs_in(help: &str) -> Vec<String> {
    let listed =
        help.lines().skip_while(|line| *line != "Commands:").skip(1).take_while(|line| !line.is_empty());
    // The second line of a description is indented further.
    let verbs = listed.filter_map(|line| line.strip_prefix("  ").filter(|rest| !rest.starts_with(' ')));
    verbs
        .filter_map(|rest| rest.split(' ').next())
        .filter(|verb| *verb != "help")
        .map(str::to_owned)
        .collect()
}

fn is_up_to_date(name: &str, page: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference").join(name);
    if std::env::var_os("WEIR_UPDATE_DOCS").is_some() {
        std::fs::write(&path, page).unwrap();
    }
    let committed = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(committed == page, "{name} is stale: WEIR_UPDATE_DOCS=1 cargo test -p weir --test documents");
}
