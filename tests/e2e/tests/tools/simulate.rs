//! Tests the output of `weir simulate` on a terminal and as JSON.

use crate::tool::{command, finish, text};

/// Arguments of a simulation that is long enough to report progress, even on an idle machine.
const ARGUMENTS: &str =
    "simulate --servers 50 --algorithms round-robin,random --seeds 2 --requests 1000000 --threads 1";

#[test]
fn on_a_terminal_the_simulation_tells_how_far_it_is_and_takes_the_line_away() {
    let mut script = command("script");
    script.args(["-q", "-e", "-c", &format!("{} {ARGUMENTS}", weir_e2e::program().display()), "/dev/null"]);
    let output = finish(script);
    let shown = text(&output);
    assert!(output.status.success(), "{shown}");
    let (progress, table) = shown.rsplit_once("\r\u{1b}[K").expect(&shown);
    assert!(progress.contains("simulating: ") && progress.contains("of 4 runs"), "{progress:?}");
    assert!(!table.contains("simulating") && table.contains("round-robin"), "{table:?}");
}

#[test]
fn a_program_gets_json_and_nothing_else() {
    let mut weir = command(weir_e2e::program().to_str().unwrap());
    weir.args(ARGUMENTS.replace("1000000", "1000").split(' ')).arg("--json");
    let output = finish(weir);
    assert!(output.status.success());
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(report["algorithms"].as_array().unwrap().len(), 2);
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
}
