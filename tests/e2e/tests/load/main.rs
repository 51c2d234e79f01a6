//! Tests of `weir load` as an engineer or a script uses it, against real servers and under sabotage.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod files;
mod others;
mod sabotage;

use std::process::{Command, Output};

use serde_json::Value;
use weir_origin::{Origin, OriginHandle};
use weir_testkit::{RefusingPort, TempDir};

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

/// Returns the kinds of flaws in the JSON of a run.
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
    for accepted in ["5xx", "2xx,503"] {
        let output = weir(&["-c", "2", "-n", "20", "--expect", accepted, &url]);
        assert!(!text(&output).contains("THE SERVER FAILED"), "{accepted}: {}", text(&output));
    }
    let output = weir(&["-c", "1", "-n", "1", "-m", "CONNECT", &url]);
    assert_eq!(output.status.code(), Some(2), "{}", text(&output));
    assert!(text(&output).contains("CONNECT cannot be played"), "{}", text(&output));
}

/// Writes a target file with a GET of each URL, in turn.
fn in_turn(directory: &TempDir, urls: [&str; 2]) -> String {
    let path = directory.path().join("targets");
    std::fs::write(&path, urls.map(|url| format!("GET {url}\n\n")).concat()).unwrap();
    path.to_str().unwrap().to_owned()
}

#[test]
fn half_of_the_connections_refused_is_the_servers_failure_in_every_form_of_report() {
    let (origin, nobody, directory) = (origin(), RefusingPort::new(), TempDir::new().unwrap());
    let urls = [origin.addr(), nobody.addr()].map(|address| format!("http://{address}/bytes/10"));
    let targets = in_turn(&directory, [&urls[0], &urls[1]]);
    for form in ["text", "json", "ab", "httperf", "vegeta"] {
        let output = weir(&["--rate", "50", "-n", "20", "--targets", &targets, "--report", form]);
        assert_eq!(output.status.code(), Some(1), "{form}: {}", text(&output));
        let failed =
            "10 of 20 requests (50.00%) were not answered as expected: 10 times connect: connection refused";
        assert!(text(&output).contains(failed), "{form}: {}", text(&output));
    }
}

#[test]
fn how_many_failures_are_tolerated_is_said_and_kept() {
    let (origin, directory) = (origin(), TempDir::new().unwrap());
    let urls = ["bytes/10", "status/500"].map(|path| format!("http://{}/{path}", origin.addr()));
    let targets = in_turn(&directory, [&urls[0], &urls[1]]);
    let (told, kept) =
        ("10 of 20 requests (50.00%) were not answered as expected", directory.path().join("run"));
    let kept = kept.to_str().unwrap();
    for (least, word) in [("50%", "TOLERATED FAILURES"), ("50.1", "THE SERVER FAILED")] {
        let arguments = [
            "-c",
            "1",
            "-n",
            "20",
            "--accept-late",
            "--targets",
            &targets,
            "--expect-success",
            least,
            "-o",
            kept,
        ];
        for output in [weir(&arguments), weir(&["report", kept])] {
            assert_eq!(output.status.code() == Some(1), word == "THE SERVER FAILED", "{}", text(&output));
            assert!(text(&output).contains(&format!("{word}: {told}")), "{}", text(&output));
        }
    }
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
