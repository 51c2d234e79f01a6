//! `weir load`, as an engineer or a script uses it: against real servers, and sabotaged.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod files;
mod sabotage;

use std::process::{Command, Output};

use serde_json::Value;
use weir_origin::{Origin, OriginHandle};

fn origin() -> OriginHandle {
    Origin::builder().name("a").start().unwrap()
}

fn weir(arguments: &[&str]) -> Output {
    let mut command = Command::new(weir_e2e::program());
    command.arg("load").args(arguments);
    command.output().unwrap()
}

fn text(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

fn json(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap_or_else(|cause| panic!("{cause}: {}", text(output)))
}

/// The kinds of flaws that a run in JSON has.
fn flaws(summary: &Value) -> Vec<&str> {
    summary["flaws"].as_array().unwrap().iter().map(|flaw| flaw["kind"].as_str().unwrap()).collect()
}

#[test]
fn the_exit_status_says_whether_the_run_is_valid() {
    let origin = origin();
    let url = format!("http://{}/bytes/100", origin.addr());
    let output = weir(&["--rate", "100", "-n", "50", "--json", &url]);
    let summary = json(&output);
    assert_eq!(summary["requests"]["succeeded"], 50);
    let valid = summary["valid"].as_bool().unwrap();
    assert_eq!(output.status.code(), Some(if valid { 0 } else { 1 }));
    let output = weir(&["--rate", "100", "-n", "50", "--expect-size", "200", &url]);
    assert_eq!(output.status.code(), Some(1), "{}", text(&output));
    assert!(
        text(&output).contains("bytes are not rate x time: 50 answers of 200 bytes"),
        "{}",
        text(&output)
    );
    for bad in [
        &["--rate", "fast", &url][..],
        &[&url],
        &["report", "/nowhere/run.weir"],
        &["--rate", "1", "nonsense"],
    ] {
        let output = weir(bad);
        assert_eq!(output.status.code(), Some(2), "{bad:?}: {}", text(&output));
    }
}

#[test]
fn a_server_that_fails_is_told_apart_from_a_run_that_is_invalid() {
    let origin = origin();
    let url = format!("http://{}/status/503", origin.addr());
    let output = weir(&["-c", "2", "-n", "20", &url]);
    assert_eq!(output.status.code(), Some(1), "{}", text(&output));
    let failed =
        "THE SERVER FAILED: 20 of 20 requests (100.00%) were not answered as expected: 20 times status 503\n";
    assert!(text(&output).contains(failed), "{}", text(&output));
    let output = weir(&["-c", "2", "-n", "20", "--expect-status", "503", &url]);
    assert!(!text(&output).contains("THE SERVER FAILED"), "{}", text(&output));
    let output = weir(&["-c", "1", "-n", "1", "-m", "CONNECT", &url]);
    assert_eq!(output.status.code(), Some(2), "{}", text(&output));
    assert!(text(&output).contains("CONNECT cannot be played"), "{}", text(&output));
}

#[test]
fn requests_per_server_are_those_that_servers_got() {
    let origins = ["a", "b"].map(|name| Origin::builder().name(name).start().unwrap());
    let config = weir_e2e::web(&[origins[0].addr(), origins[1].addr()]) + "balance = \"round-robin\"\n";
    let server = weir_e2e::Weir::start(&config);
    let url = format!("http://{}/bytes/100", server.addr("web"));
    let arguments = ["-c", "4", "-n", "400", "--expect-balance", "equal:2", "--json", &url];
    let summary = json(&weir(&arguments));
    assert!(!flaws(&summary).contains(&"balance"), "{summary}");
    for (at, origin) in origins.iter().enumerate() {
        assert_eq!(summary["servers"][at]["name"], origin.name());
        assert_eq!(summary["servers"][at]["requests"], origin.requests());
    }
    let arguments = ["-c", "4", "-n", "400", "--expect-balance", "a=3,b=1", "--json", &url];
    assert!(flaws(&json(&weir(&arguments))).contains(&"balance"));
}
