//! `weir lab` with an active-passive pair of balancers, as a site has it: keepalived beside each, in network namespaces.

#![allow(clippy::unwrap_used, clippy::panic)]

use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use weir_testkit::TempDir;

const PAIR: &str = "rivals = \"weir\"\nrepeats = 1\nwarm-up = \"100ms\"\njudge = \"outage\"\n\
    [topology]\nkind = \"namespaces\"\n[servers]\ncount = 2\n[balancer]\npair = {}\n";

fn lab(directory: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(weir_e2e::program());
    command.arg("lab").args(arguments).current_dir(directory).stdin(Stdio::null());
    command.output().unwrap()
}

fn text(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

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
    let directory = TempDir::new().unwrap();
    let load = "rate = 100\nsize = \"1KiB\"\nkeep-alive = false\nduration = \"8s\"\ntimeout = \"3s\"";
    let tests = ["machine", "program"]
        .map(|loss| format!("[[test]]\nname = \"{loss}\"\nlose = \"{loss}\"\n{load}\n"))
        .concat();
    fs::write(directory.path().join("pair.toml"), format!("{PAIR}{tests}")).unwrap();
    let child = Command::new(weir_e2e::program())
        .args(["lab", "run", "pair.toml", "--csv", "pair.csv", "--markdown", "pair.md"])
        .current_dir(directory.path())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let prefix = format!("weir-lab-{}-", child.id());
    let said = text(&child.wait_with_output().unwrap());
    let csv = fs::read_to_string(directory.path().join("pair.csv")).unwrap_or_else(|_| panic!("{said}"));
    let mut seen = Vec::new();
    for line in csv.lines().skip(1) {
        let fields: Vec<&str> = line.split(',').collect();
        let number = |at: usize| fields[at].parse::<f64>().unwrap();
        // The first half is served by the active one; without the other there would be no more.
        assert!(number(8) > number(7) * 0.6, "{line}\n{said}");
        // Nobody takes over before two messages are missing.
        let outage_ms = fields.last().unwrap().parse::<f64>().unwrap();
        assert!(fields[0] != "machine" || outage_ms > 300.0, "{line}\n{said}");
        seen.push(fields[0].to_owned());
    }
    assert_eq!(seen, ["machine", "program"], "{said}");
    // What fails meanwhile is what is measured, and no flaw.
    assert!(!said.contains("bytes are not"), "{said}");
    let report = fs::read_to_string(directory.path().join("pair.md")).unwrap();
    // A run that was kept from the CPU is left out, and has no figures.
    let is_valid = csv.contains(",true,");
    assert!(!is_valid || report.contains("Longest time without an answer, ms"), "{report}");
    assert!(report.contains("vrrp_instance pair") && report.contains("| keepalived | "), "{report}");
    let left = Command::new("ip").args(["netns", "list"]).output().unwrap();
    assert!(!text(&left).contains(&prefix), "{}", text(&left));
}

#[test]
fn a_pair_without_its_networks_or_its_program_is_told_with_its_line() {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("pair.toml");
    let test = "[[test]]\nrate = 10\nsize = \"1KiB\"\nlose = \"machine\"\n";
    fs::write(&path, format!("{}{test}", PAIR.replace("namespaces", "loopback"))).unwrap();
    let said = text(&lab(directory.path(), &["run", "pair.toml"]));
    assert!(said.contains("pair.toml:10") && said.contains("needs kind = \"namespaces\""), "{said}");
    fs::write(&path, format!("{}{test}", PAIR.replace("pair = {}", ""))).unwrap();
    let said = text(&lab(directory.path(), &["run", "pair.toml"]));
    assert!(said.contains("pair.toml:11") && said.contains("[balancer] needs `pair`"), "{said}");
    if is_possible() {
        let named = "pair = { program = \"/nowhere/keepalived\" }";
        fs::write(&path, format!("{}{test}", PAIR.replace("pair = {}", named))).unwrap();
        let said = text(&lab(directory.path(), &["run", "pair.toml"]));
        assert!(said.contains("pair.toml:10") && said.contains("/nowhere/keepalived"), "{said}");
    }
}
