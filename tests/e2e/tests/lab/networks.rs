//! Tests that the network namespaces of `weir lab` are removed, however the lab ends.

use std::path::Path;
use std::process::Command;

use rustix::process::{Pid, Signal, kill_process};
use weir_e2e::{Lab, text};

/// One run, followed by a long pause.
const SCENARIO: &str = "topology = { kind = \"namespaces\", server-rate = 1000 }\nrivals = \"weir\"\nrepeats = 2\nwarm-up = \"20ms\"\n\
    pause = \"10m\"\nwatch = \"50ms\"\n[servers]\ncount = 2\n[[test]]\nconnections = 2\nrequests = 40\nsize = \"1KiB\"\n";
/// Number of namespaces: client, balancer, two servers, and the bridge between them.
const NETWORKS: usize = 5;

/// Returns the number of namespaces of the lab with this process id.
fn networks_of(lab: u32) -> usize {
    let list = Command::new("ip").args(["netns", "list"]).output().unwrap();
    let prefix = format!("weir-lab-{lab}-");
    text(&list).lines().filter(|line| line.starts_with(&prefix)).count()
}

#[test]
fn networks_go_with_a_lab_that_is_interrupted_and_those_of_a_killed_one_at_the_next_start() {
    if !rustix::process::geteuid().is_root() || !Path::new("/usr/sbin/ip").exists() {
        return weir_testkit::untested("needs root and ip");
    }
    let bench = Lab::new(SCENARIO);
    let mut interrupted = bench.start(&["run", "tiny.toml"], 1);
    // Counts now and asserts after the end: a test that fails must not leave a lab in its pause behind.
    let there = networks_of(interrupted.id());
    kill_process(Pid::from_child(&interrupted), Signal::INT).unwrap();
    assert_eq!((there, interrupted.wait().unwrap().code()), (NETWORKS, Some(2)));
    assert_eq!(networks_of(interrupted.id()), 0);

    let mut killed = bench.start(&["run", "tiny.toml", "--output", "killed.sqlite"], 1);
    let there = networks_of(killed.id());
    killed.kill().unwrap();
    killed.wait().unwrap();
    // The next lab cleans up, even if it uses no namespaces.
    bench.write(&SCENARIO.replace("kind = \"namespaces\", server-rate = 1000", "").replace("10m", "0ms"));
    let said = bench.run(&["run", "tiny.toml", "--output", "next.sqlite"]).text();
    assert_eq!((there, networks_of(killed.id())), (NETWORKS, 0), "{said}");
}
