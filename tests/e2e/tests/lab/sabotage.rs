//! Tests that `weir lab` detects balancers and servers that do not follow the scenario: such runs are
//! invalid, with a reason.

use std::fs;
use std::net::SocketAddr;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::Duration;

use serde_json::Value;
use weir_e2e::Lab;
use weir_origin::{Origin, ServiceTime, Spread};
use weir_testkit::RawServer;

/// A script that runs Weir, but edits its configuration files first.
const LIAR: &str = r#"#!/bin/sh
for argument; do
    [ ! -f "$argument" ] || sed -i EDITS "$argument"
done
BEFORE
exec PROGRAM "$@"
"#;

const TESTS: &str = "repeats = 2\nwarm-up = \"0ms\"\npause = \"0ms\"\nwatch = \"50ms\"\n\
    [[test]]\nname = \"closed\"\nconnections = 2\nrequests = 40\nsize = \"1KiB\"\n\
    [[test]]\nname = \"open\"\nrate = 100\nrequests = 20\nsize = \"1KiB\"\n";

/// Writes such a script; without edits it runs Weir unchanged.
fn write_liar(path: &Path, edits: &[String]) {
    write_liar_of(weir_e2e::program(), path, edits, "");
}

/// Writes such a script for another balancer's program; the shell runs `before` first.
fn write_liar_of(program: &Path, path: &Path, edits: &[String], before: &str) {
    let edits: String = edits.iter().map(|edit| format!(" -e '{edit}'")).collect();
    let edits = if edits.is_empty() { "-e ''" } else { edits.as_str() };
    let program = program.display().to_string();
    fs::write(path, LIAR.replace("EDITS", edits).replace("BEFORE", before).replace("PROGRAM", &program))
        .unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

/// Runs Weir next to a script that edits its configuration with sed. All runs of the script must be invalid
/// for a reason that contains `wanted`, and none of the other's.
fn all_are_found_out(edits: &[String], algorithms: &str, servers: &str, wanted: &str) {
    let scenario = format!("algorithms = {algorithms}\nservers = {{ {servers} }}\n{TESTS}");
    let write = |path: &Path| write_liar(path, edits);
    all_of_a_liar_are_found_out("weir", write, &scenario, wanted);
}

/// Does the same for any balancer and any scenario.
fn all_of_a_liar_are_found_out(product: &str, write: impl Fn(&Path), scenario: &str, wanted: &str) {
    let bench = Lab::new("");
    let path = bench.path("liar");
    write(&path);
    let liar = format!("{{ product = \"{product}\", name = \"liar\", program = {path:?} }}");
    bench.write(&format!("rivals = [\"{product}\", {liar}]\n{scenario}"));
    let output = bench.run(&["run", "tiny.toml", "--json"]);
    let (report, said) = (output.json(), output.text());
    let is_why = |run: &&Value| run["flaws"].to_string().contains(wanted);
    let found: Vec<&str> = report["invalid"]
        .as_array()
        .unwrap()
        .iter()
        .filter(is_why)
        .map(|run| run["rival"].as_str().unwrap())
        .collect();
    assert!(found.iter().all(|rival| rival.starts_with("liar")), "{wanted}: {said}");
    // The other half of the runs is the honest balancer's.
    assert_eq!(report["runs"].as_u64().unwrap(), found.len() as u64 * 2, "{wanted}: {said}");
    assert!(!found.is_empty(), "{wanted}: {said}");
}

/// Returns edits that replace the scenario's servers with these.
fn in_place(servers: [SocketAddr; 2]) -> Vec<String> {
    let edit = |(at, address): (usize, SocketAddr)| {
        format!("/name = \"s{}\"/s/address = \"[^\"]*\"/address = \"{address}\"/", at + 1)
    };
    servers.into_iter().enumerate().map(edit).collect()
}

#[test]
fn who_takes_no_account_of_weights_has_only_invalid_runs() {
    let edits = ["s/, weight = [0-9]*//".to_owned()];
    let servers = "count = 2, weights = [9, 1]";
    all_are_found_out(&edits, "\"round-robin\"", servers, "requests per server are not as expected");
}

#[test]
fn who_is_off_by_a_few_of_forty_requests_has_only_invalid_runs() {
    let servers = "count = 2, weights = [3, 2]";
    let wanted = "requests per server are not as expected";
    all_are_found_out(&["s/, weight = [0-9]*//".to_owned()], "\"round-robin\"", servers, wanted);
    // Tests the opposite, too: servers of equal weight get unequal shares.
    let edits = [("s1", 3), ("s2", 2)]
        .map(|(name, weight)| format!("s/name = \"{name}\", address = \"[^\"]*\"/&, weight = {weight}/"));
    all_are_found_out(&edits, "\"round-robin\"", "count = 2", wanted);
}

#[test]
fn who_is_out_of_descriptors_has_only_invalid_runs() {
    // These connections, each with a second one to a server, exceed the descriptor limit.
    const TEST: &str = "repeats = 2\nwarm-up = \"0ms\"\npause = \"0ms\"\nwatch = \"20ms\"\nalgorithms = \"least-connections\"\n\
        servers = { count = 2, delay = \"50ms\" }\n\
        [[test]]\nname = \"many\"\nconnections = 60\nrequests = 600\nsize = \"1KiB\"\ntimeout = \"2s\"\n";
    // Balancers raise their own limit, so a shell lowers it and the config tells them not to raise it.
    for (product, edit) in [
        ("haproxy", "s/^  maxconn .*/&\\n  ulimit-n 50/"),
        ("nginx", "s/^worker_rlimit_nofile .*/worker_rlimit_nofile 50;/"),
    ] {
        let program = Path::new("/usr/sbin").join(product);
        if !program.exists() {
            weir_testkit::untested(format!("needs {product}"));
            continue;
        }
        let write = |path: &Path| write_liar_of(&program, path, &[edit.to_owned()], "ulimit -n 50");
        all_of_a_liar_are_found_out(product, write, TEST, "was out of descriptors");
    }
}

#[test]
fn who_chooses_by_another_algorithm_has_only_invalid_runs() {
    // Swaps two algorithms.
    let edits = ["s/\"round-robin\"/\"other\"/", "s/\"source\"/\"round-robin\"/", "s/\"other\"/\"source\"/"];
    let edits = edits.map(str::to_owned);
    all_are_found_out(
        &edits,
        "[\"round-robin\", \"source\"]",
        "count = 2",
        "requests per server are not as expected",
    );
    // A balancer that uses only one server has not chosen at random.
    let edits = ["s/\"random\"/\"first\"/".to_owned()];
    all_are_found_out(&edits, "\"random\"", "count = 2", "requests per server are not as expected");
}

#[test]
fn who_asks_servers_that_do_not_think_has_only_invalid_runs() {
    let quick = ["s1", "s2"].map(|name| Origin::builder().name(name).start().unwrap());
    let edits = in_place([quick[0].addr(), quick[1].addr()]);
    let servers = "count = 2, delay = \"30ms\"";
    all_are_found_out(&edits, "\"least-connections\"", servers, "answers came sooner than the 30");
}

#[test]
fn who_brings_other_bytes_has_only_invalid_runs() {
    let answer = |name: &str| {
        let answer = format!("HTTP/1.1 200 OK\r\nX-Origin: {name}\r\nContent-Length: 10\r\n\r\n0123456789");
        RawServer::responding(move |_| answer.clone().into_bytes())
    };
    let small = ["s1", "s2"].map(answer);
    let edits = in_place([small[0].addr(), small[1].addr()]);
    all_are_found_out(&edits, "\"least-connections\"", "count = 2", "bytes are not rate x time");
}

#[test]
fn the_gate_closes_for_who_has_become_slower() {
    let bench = Lab::new("");
    let program = bench.path("balancer");
    bench.write(&format!(
        "rivals = {{ product = \"weir\", program = {:?} }}\nrepeats = 6\njudge = \"mean\"\nwarm-up = \"20ms\"\npause = \"0ms\"\n\
         watch = \"50ms\"\n[servers]\ncount = 2\n[[test]]\nname = \"open\"\nrate = 100\nrequests = 20\nsize = \"1KiB\"\n",
        program.display().to_string()
    ));
    write_liar(&program, &[]);
    bench.run(&["run", "tiny.toml", "--quiet", "--output", "before.sqlite"]);
    let service = ServiceTime { concurrency: 100, mean: Duration::from_millis(50), spread: Spread::Fixed };
    let slow = ["s1", "s2"].map(|name| Origin::builder().name(name).service(service).start().unwrap());
    write_liar(&program, &in_place([slow[0].addr(), slow[1].addr()]));
    bench.run(&["run", "tiny.toml", "--quiet", "--output", "after.sqlite"]);
    for file in ["before.sqlite", "after.sqlite"] {
        let report = bench.run(&["report", file, "--json"]).json();
        assert_eq!(report["runs"], 6, "{report}");
        if report["invalid"].as_array().unwrap().len() > 1 {
            return weir_testkit::untested("too busy for valid runs");
        }
    }
    let compared = bench.run(&["compare", "before.sqlite", "after.sqlite"]);
    assert_eq!(compared.code(), Some(1), "{}", compared.text());
    let said = compared.text();
    assert!(
        said.lines().any(|line| line.starts_with("open, weir, mean: ") && line.ends_with(": WORSE")),
        "{said}"
    );
    assert!(said.contains("1 of 1 figures are worse by over 2% beyond chance"), "{said}");
    // In the other direction the result is better, and the gate stays open.
    let compared = bench.run(&["compare", "after.sqlite", "before.sqlite"]);
    assert!(compared.code() == Some(0) && compared.text().contains(": better"), "{}", compared.text());
}
