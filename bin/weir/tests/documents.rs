//! Committed pages that are made from the code.

#![allow(clippy::unwrap_used)]

use std::path::Path;

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

fn is_up_to_date(name: &str, page: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference").join(name);
    if std::env::var_os("WEIR_UPDATE_DOCS").is_some() {
        std::fs::write(&path, page).unwrap();
    }
    let committed = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(committed == page, "{name} is stale: WEIR_UPDATE_DOCS=1 cargo test -p weir --test documents");
}
