use std::fs;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use weir_testkit::{PATIENCE, TempDir, untested, wait_until};

use crate::{flaws, json, origin, text};

/// Programs that want all of a core.
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

/// A group of processes that together have a tenth of a CPU.
struct Quota(PathBuf);

impl Quota {
    /// `None` where this machine has no such groups, or does not let us make one.
    fn new(name: &str) -> Option<Self> {
        let name = format!("weir-{name}-{}", std::process::id());
        // Of version 2, then of version 1.
        let kinds = [
            ("/sys/fs/cgroup", "cpu.max", "10000 100000"),
            ("/sys/fs/cgroup/cpu", "cpu.cfs_quota_us", "10000"),
        ];
        kinds.into_iter().find_map(|(root, file, quota)| {
            let group = PathBuf::from(root).join(&name);
            fs::create_dir(&group).ok()?;
            let group = Self(group);
            // In a tmpfs a directory can be made, too, but nothing is in it.
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

impl Drop for Quota {
    fn drop(&mut self) {
        wait_until("the group is empty", PATIENCE, || fs::remove_dir(&self.0).is_ok() || !self.0.exists());
    }
}

#[test]
fn a_generator_that_has_used_up_its_quota_of_cpu_time_says_so() {
    let origin = origin();
    let url = format!("http://{}/bytes/100", origin.addr());
    let Some(quota) = Quota::new("quota") else {
        return untested("no control group for CPU time can be made here");
    };
    for mode in [&["--rate", "4000"][..], &["-c", "8"]] {
        let arguments = [&["load", "--duration", "2s", "--json"][..], mode, &[url.as_str()][..]].concat();
        let output = quota.weir(&arguments).output().unwrap();
        let summary = json(&output);
        assert_eq!(output.status.code(), Some(1), "{mode:?}: {summary}");
        let flaws = flaws(&summary);
        assert!(flaws.contains(&"late") || flaws.contains(&"cpu"), "{mode:?}: {summary}");
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
            // Two thirds of the time it may not run.
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

/// With a view of the machine of its own, in which hardly any memory is left.
const NO_MEMORY: &str = r#"
grep -v ^MemAvailable: /proc/meminfo > "$1" && echo 'MemAvailable: 1000 kB' >> "$1" && mount --bind "$1" /proc/meminfo || exit 3
shift
exec "$0" "$@"
"#;

#[test]
fn a_generator_on_a_machine_without_memory_says_so() {
    if !rustix::process::geteuid().is_root() {
        return untested("needs root, to see another /proc/meminfo");
    }
    let (origin, directory) = (origin(), TempDir::new().unwrap());
    let url = format!("http://{}/bytes/100", origin.addr());
    let mut command = Command::new("unshare");
    command.args(["--mount", "sh", "-c", NO_MEMORY]).arg(weir_e2e::program());
    command.arg(directory.path().join("meminfo"));
    let output = command.args(["load", "-c", "1", "-n", "50", "--json", &url]).output().unwrap();
    assert_eq!(output.status.code(), Some(1), "{}", text(&output));
    let summary = json(&output);
    assert!(flaws(&summary).contains(&"memory"), "{summary}");
    assert!(text(&output).contains("the machine was out of memory"), "{}", text(&output));
    assert_eq!(summary["requests"]["succeeded"], 50, "its requests were answered nonetheless");
}

/// In a network of its own, with ten ports for connections.
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
