use std::process::{Child, Command, Stdio};

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
