//! Tests that `weir load` reports its own lack of CPU time, memory, descriptors or ports.

use std::fs;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use weir_testkit::{PATIENCE, TempDir, untested, wait_until};

use crate::{flaws, json, origin, text};

/// Programs that use all of a core.
struct Spinners(Vec<Child>);

impl Spinners {
    fn start(count: usize) -> Self {
        let spin = |_| {
            let mut command = Command::new("taskset");
            command.args(["-c", "0", "sh", "-c", "while :; do :; done"]).stdout(Stdio::null());
            command.spawn().expect("taskset (util-linux)")
        };
        Self((0..count).map(spin).collect())
    }
}

impl Drop for Spinners {
    fn drop(&mut self) {
        for child in &mut self.0 {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

#[test]
fn a_generator_without_cpu_time_says_so() {
    let origin = origin();
    let url = format!("http://{}/bytes/100", origin.addr());
    let _spinners = Spinners::start(6);
    let mut command = Command::new("taskset");
    command.args(["-c", "0"]).arg(weir_e2e::program());
    let output =
        command.args(["load", "--rate", "500", "--duration", "3s", "--json", &url]).output().unwrap();
    let summary = json(&output);
    assert_eq!(output.status.code(), Some(1), "{summary}");
    let flaws = flaws(&summary);
    assert!(flaws.contains(&"late") || flaws.contains(&"cpu"), "{summary}");
}

/// A control group with a limit.
struct Group(PathBuf);

/// Limits for control groups of version 2, then of version 1: root directory, file name and value.
type Limits = [(&'static str, &'static str, &'static str); 2];

/// A tenth of a CPU.
const CPU: Limits =
    [("/sys/fs/cgroup", "cpu.max", "10000 100000"), ("/sys/fs/cgroup/cpu", "cpu.cfs_quota_us", "10000")];
/// A little less than the minimum that a run requires to be free.
const MEMORY: Limits = [
    ("/sys/fs/cgroup", "memory.max", "62914560"),
    ("/sys/fs/cgroup/memory", "memory.limit_in_bytes", "62914560"),
];

impl Group {
    /// Creates a group. Returns `None` if this machine has no control groups or does not permit new ones.
    fn new(name: &str, limits: &Limits) -> Option<Self> {
        let name = format!("weir-{name}-{}", std::process::id());
        limits.iter().find_map(|(root, file, quota)| {
            let group = PathBuf::from(root).join(&name);
            fs::create_dir(&group).ok()?;
            let group = Self(group);
            // In a tmpfs a directory can be created, too, but it has no control files.
            let is_group = group.0.join("cgroup.procs").exists() && group.0.join(file).exists();
            (is_group && fs::write(group.0.join(file), quota).is_ok()).then_some(group)
        })
    }

    fn weir(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", "echo $$ > \"$1\" && shift && exec \"$@\"", "sh"]);
        command.arg(self.0.join("cgroup.procs")).arg(weir_e2e::program()).args(arguments);
        command
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        wait_until("the group is empty", PATIENCE, || fs::remove_dir(&self.0).is_ok() || !self.0.exists());
    }
}

#[test]
fn a_generator_that_has_used_up_its_quota_of_cpu_time_says_so() {
    let origin = origin();
    let url = format!("http://{}/bytes/100", origin.addr());
    let Some(quota) = Group::new("quota", &CPU) else {
        return untested("no control group for CPU time can be made here");
    };
    for mode in [&["--rate", "4000"][..], &["-c", "8"]] {
        let arguments = [&["load", "--duration", "2s", "--json"][..], mode, &[url.as_str()][..]].concat();
        let output = quota.weir(&arguments).output().unwrap();
        let summary = json(&output);
        let count = |name: &str| summary["facts"]["quota"][name].as_u64().unwrap();
        if count("throttled") * 2 < count("periods") {
            untested("the machine is too busy for a generator to use up its quota");
            continue;
        }
        assert_eq!(output.status.code(), Some(1), "{mode:?}: {summary}");
        let found = flaws(&summary);
        assert!(found.contains(&"late") || found.contains(&"cpu"), "{mode:?}: {summary}");
        let cause = "the CPU quota of control group /weir-quota-";
        assert!(text(&output).contains(cause), "{mode:?}: {summary}");
    }
}

#[test]
fn a_generator_that_is_stopped_again_and_again_says_so() {
    let origin = origin();
    let url = format!("http://{}/bytes/100", origin.addr());
    for mode in [&["--rate", "100"][..], &["-c", "2", "--pause", "20ms"]] {
        let mut command = Command::new(weir_e2e::program());
        command.args(["load", "--duration", "2s", "--json"]).args(mode).arg(&url);
        let mut weir = command.stdout(Stdio::piped()).spawn().unwrap();
        let pid = Pid::from_child(&weir);
        while weir.try_wait().unwrap().is_none() {
            // The process is stopped for two thirds of the time.
            for (signal, ms) in [(Signal::STOP, 200), (Signal::CONT, 100)] {
                let _ = kill_process(pid, signal);
                std::thread::sleep(Duration::from_millis(ms));
            }
        }
        let output = weir.wait_with_output().unwrap();
        let summary = json(&output);
        assert_eq!(output.status.code(), Some(1), "{mode:?}: {summary}");
        let flaws = flaws(&summary);
        assert!(flaws.contains(&"late") || flaws.contains(&"cpu"), "{mode:?}: {summary}");
    }
}

#[test]
fn a_generator_without_descriptors_says_so() {
    let origin = origin();
    let url = format!("http://{}/delay/500", origin.addr());
    let mut command = Command::new("sh");
    command.arg("-c").arg("ulimit -n 40 && exec \"$0\" \"$@\"").arg(weir_e2e::program());
    let output =
        command.args(["load", "--rate", "200", "--duration", "1s", "--json", &url]).output().unwrap();
    assert_eq!(output.status.code(), Some(1), "{}", text(&output));
    let summary = json(&output);
    assert!(flaws(&summary).contains(&"descriptors"), "{summary}");
}

/// Shell script that runs a program with its own /proc/meminfo, which shows little free memory.
const LITTLE_MEMORY: &str = r#"
grep -v ^MemAvailable: /proc/meminfo > "$1" && echo "MemAvailable: $2 kB" >> "$1" && mount --bind "$1" /proc/meminfo || exit 3
shift 2
exec "$0" "$@"
"#;

#[test]
fn a_generator_on_a_machine_without_memory_says_so_and_ends_before_it_is_killed() {
    if !rustix::process::geteuid().is_root() {
        return untested("needs root, to see another /proc/meminfo");
    }
    // In a container, root may not be permitted to do that.
    if !Command::new("unshare").args(["--mount", "true"]).status().is_ok_and(|status| status.success()) {
        return untested("no mount namespace can be made here");
    }
    let (origin, directory) = (origin(), TempDir::new().unwrap());
    let url = format!("http://{}/bytes/100", origin.addr());
    let weir = |kib: &str, how_long: &[&str]| {
        let mut command = Command::new("unshare");
        command.args(["--mount", "sh", "-c", LITTLE_MEMORY]).arg(weir_e2e::program());
        command.arg(directory.path().join("meminfo")).arg(kib);
        let output = command.args(["load", "-c", "1", "--json"]).args(how_long).arg(&url).output().unwrap();
        assert_eq!(output.status.code(), Some(1), "{}", text(&output));
        assert!(text(&output).contains("memory ran short"), "{}", text(&output));
        json(&output)
    };
    let little = weir("32768", &["-n", "50"]);
    assert!(flaws(&little).contains(&"memory"), "{little}");
    assert_eq!(little["requests"]["succeeded"], 50, "it could go on: {little}");
    let nothing = weir("1000", &["--duration", "1h"]);
    assert!(flaws(&nothing).contains(&"memory") && flaws(&nothing).contains(&"cut-off"), "{nothing}");
}

#[test]
fn a_generator_in_a_group_without_memory_says_so() {
    let origin = origin();
    let url = format!("http://{}/bytes/100", origin.addr());
    let Some(group) = Group::new("memory", &MEMORY) else {
        return untested("no control group for memory can be made here");
    };
    let output = group.weir(&["load", "-c", "1", "-n", "50", "--json", &url]).output().unwrap();
    assert_eq!(output.status.code(), Some(1), "{}", text(&output));
    let summary = json(&output);
    assert!(flaws(&summary).contains(&"memory"), "{summary}");
}

/// Shell script that runs a program in its own network namespace, with ten local ports.
const TEN_PORTS: &str = r#"
ip link set lo up && echo 50000 50009 > /proc/sys/net/ipv4/ip_local_port_range || exit 3
"$0" origin --bind 127.0.0.1:8080 > /dev/null &
origin=$!
for try in $(seq 500); do
    "$0" load -q -c 1 -n 1 --report ab http://127.0.0.1:8080/health > /dev/null 2>&1
    [ $? = 1 ] || break
done
"$0" load --rate 100 --duration 1s --json http://127.0.0.1:8080/delay/500
status=$?
kill $origin
exit $status
"#;

#[test]
fn a_generator_without_ports_says_so() {
    let mut command = Command::new("unshare");
    command.args(["--net", "sh", "-c", TEN_PORTS]).arg(weir_e2e::program());
    let output = command.output().unwrap();
    assert_eq!(output.status.code(), Some(1), "{}", text(&output));
    let summary = json(&output);
    assert!(flaws(&summary).contains(&"ports"), "{summary}");
}
