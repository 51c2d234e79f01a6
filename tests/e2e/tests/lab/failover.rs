//! Tests of `weir lab` with an active-passive pair of balancers in network namespaces, with keepalived next
//! to each.

use std::path::Path;
use std::process::Command;

use weir_e2e::{Lab, text};

const PAIR: &str = "rivals = \"weir\"\nrepeats = 1\nwarm-up = \"100ms\"\njudge = \"outage\"\n\
    [topology]\nkind = \"namespaces\"\n[servers]\ncount = 2\n[balancer]\npair = {}\n";

fn is_possible() -> bool {
    let has = |path: &str| Path::new(path).exists();
    let is_possible =
        rustix::process::geteuid().is_root() && has("/usr/sbin/ip") && has("/usr/sbin/keepalived");
    if !is_possible {
        weir_testkit::untested("needs root, ip and keepalived");
    }
    is_possible
}

#[test]
fn the_passive_one_takes_over_when_the_active_one_loses_its_machine_or_its_program() {
    if !is_possible() {
        return;
    }
    let load = "rate = 100\nsize = \"1KiB\"\nkeep-alive = false\nduration = \"8s\"\ntimeout = \"3s\"";
    let tests = ["machine", "program"]
        .map(|loss| format!("[[test]]\nname = \"{loss}\"\nlose = \"{loss}\"\n{load}\n"))
        .concat();
    let lab = Lab::new(&format!("{PAIR}{tests}"));
    let output = lab.run(&["run", "tiny.toml", "--csv", "pair.csv", "--markdown", "pair.md"]);
    let (said, prefix) = (output.text(), format!("weir-lab-{}-", output.pid));
    let mut seen = Vec::new();
    for run in lab.csv("pair.csv") {
        // The active balancer serves the first half. Without a takeover there would be no further successes.
        assert!(run.number("succeeded") > run.number("sent") * 0.6, "{run:?}\n{said}");
        // The passive balancer takes over only after two missing messages.
        assert!(run.get("case") != "machine" || run.number("outage") > 300.0, "{run:?}\n{said}");
        assert!(run.number("answered") > 60.0 && run.number("recovery") > 0.0, "{run:?}\n{said}");
        seen.push(run.get("case").to_owned());
    }
    assert_eq!(seen, ["machine", "program"], "{said}");
    // Failures during the outage are the measured value and not a flaw. The address was at the right balancer
    // before and after.
    assert!(!said.contains("bytes are not") && !said.contains("address"), "{said}");
    let report = lab.read("pair.md");
    // A run whose generator lacked CPU time is left out and has no figures.
    let is_valid = lab.read("pair.csv").contains(",true,");
    assert!(!is_valid || report.contains("Longest time without an answer, ms"), "{report}");
    assert!(report.contains("vrrp_instance pair") && report.contains("| keepalived | "), "{report}");
    assert!(report.contains("the active one had the address before the loss"), "{report}");
    let left = Command::new("ip").args(["netns", "list"]).output().unwrap();
    assert!(!text(&left).contains(&prefix), "{}", text(&left));
}

#[test]
fn a_pair_without_its_networks_or_its_program_is_told_with_its_line() {
    let test = "[[test]]\nrate = 10\nsize = \"1KiB\"\nlose = \"machine\"\n";
    let said = |pair: &str| Lab::new(&format!("{pair}{test}")).run(&["run", "tiny.toml"]).text();
    let loopback = said(&PAIR.replace("namespaces", "loopback"));
    assert!(
        loopback.contains("tiny.toml:10") && loopback.contains("needs kind = \"namespaces\""),
        "{loopback}"
    );
    let alone = said(&PAIR.replace("pair = {}", ""));
    assert!(alone.contains("tiny.toml:11") && alone.contains("[balancer] needs `pair`"), "{alone}");
    if is_possible() {
        let named = said(&PAIR.replace("pair = {}", "pair = { program = \"/nowhere/keepalived\" }"));
        assert!(named.contains("tiny.toml:10") && named.contains("/nowhere/keepalived"), "{named}");
    }
}
