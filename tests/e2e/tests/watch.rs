//! `weir watch`, as an engineer, a cron job and Prometheus use it.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Output, Stdio};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use weir_testkit::TempDir;

fn weir(arguments: &[&str]) -> Output {
    Command::new(weir_e2e::program()).arg("watch").args(arguments).output().unwrap()
}

/// Ends with the test.
struct Running(Child);

impl Running {
    fn start(arguments: &[&str]) -> Self {
        let mut command = Command::new(weir_e2e::program());
        command
            .arg("watch")
            .args(arguments)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        Self(command.spawn().unwrap())
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn a_cron_job_gets_a_line_for_each_disk_each_time_and_the_header_once() {
    let directory = TempDir::new().unwrap();
    let to = directory.path().join("disks").display().to_string();
    for _ in 0..2 {
        let output = weir(&["--disks", "--once", "--output", &to]);
        assert!(output.status.success() && output.stdout.is_empty(), "{output:?}");
    }
    let kernel = fs::read_to_string("/proc/diskstats").unwrap();
    let csv = fs::read_to_string(directory.path().join("disks/disks.csv")).unwrap();
    let lines: Vec<Vec<&str>> = csv.lines().map(|line| line.split(',').collect()).collect();
    assert_eq!(lines.len(), 1 + 2 * kernel.lines().count());
    assert_eq!(lines[0][..5], ["time", "elapsed_s", "subject", "reads", "reads_merged"]);
    for (at, line) in kernel.lines().enumerate() {
        let words: Vec<&str> = line.split_whitespace().collect();
        for look in 0..2 {
            let row = &lines[1 + look * kernel.lines().count() + at];
            assert_eq!(row[2], words[2]);
            // As many figures as this kernel has, and none is missing.
            assert_eq!(
                row[3..].iter().filter(|cell| !cell.is_empty()).count(),
                (words.len() - 3).min(17),
                "{row:?}"
            );
        }
    }
}

#[test]
fn the_work_of_a_process_is_seen_in_json() {
    let mut busy = Command::new("sh").args(["-c", "while :; do :; done"]).spawn().unwrap();
    let pid = busy.id().to_string();
    let mut watch = Running::start(&["--pid", &pid, "--host", "--json", "--every", "100ms"]);
    let lines = BufReader::new(watch.0.stdout.take().unwrap()).lines();
    let cpu = lines.skip(1).find_map(|line| {
        let moment: Value = serde_json::from_str(&line.unwrap()).unwrap();
        assert!(moment["host"][0]["memory_total_bytes"].as_u64().unwrap() > 0);
        let process = &moment["processes"][0];
        assert_eq!(process["subject"], format!("sh[{pid}]"));
        process["cpu_user"].as_f64().filter(|cpu| *cpu > 0.0)
    });
    busy.kill().unwrap();
    busy.wait().unwrap();
    assert!(cpu.is_some());
}

/// A process that does nothing, under a name of its own; ends with the test.
fn idle(program: &std::path::Path) -> Running {
    let mut command = Command::new(program);
    Running(
        command.arg("600").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap(),
    )
}

/// Lines of JSON up to one in which exactly these processes are.
fn wait_for(lines: &mut impl Iterator<Item = std::io::Result<String>>, wanted: &[&str]) {
    let is_seen = |line: std::io::Result<String>| {
        let moment: Value = serde_json::from_str(&line.unwrap()).unwrap();
        let processes = moment["processes"].as_array().unwrap();
        // From the second look on: only then there are rates.
        processes.len() == wanted.len()
            && processes.iter().zip(wanted).all(|(it, name)| it["subject"] == *name && it["cpu"].is_number())
    };
    assert!(lines.any(is_seen), "the watch has ended");
}

#[test]
fn processes_that_come_and_go_are_in_the_database_and_in_the_plots() {
    let directory = TempDir::new().unwrap();
    let path = |name: &str| directory.path().join(name).display().to_string();
    let (program, database) = (directory.path().join("weirwatched"), path("run.sqlite"));
    fs::copy("/bin/sleep", &program).unwrap();
    let first = idle(&program);
    let of = |process: &Running| format!("weirwatched[{}]", process.0.id());
    let mut arguments = vec!["--process", "weirwatched", "--json", "--every", "20ms", "--sqlite", &database];
    let plots = path("plots");
    arguments.extend(["--svg", &plots]);
    let mut watch = Running::start(&arguments);
    let mut lines = BufReader::new(watch.0.stdout.take().unwrap()).lines();
    let mut names = vec![of(&first)];
    wait_for(&mut lines, &[&names[0]]);
    drop(first);
    wait_for(&mut lines, &[]);
    let second = idle(&program);
    names.push(of(&second));
    wait_for(&mut lines, &[&names[1]]);
    // It goes on talking, and must not wait for somebody who listens.
    std::thread::spawn(move || lines.for_each(drop));
    // Read while it is written, and drawn at its end.
    let during = weir(&["plot", &database, "--svg", &path("during")]);
    assert!(during.status.success(), "{during:?}");
    assert_eq!(String::from_utf8(during.stdout).unwrap(), format!("{}\n", path("during/processes.svg")));
    kill_process(Pid::from_raw(watch.0.id().cast_signed()).unwrap(), Signal::TERM).unwrap();
    assert!(watch.0.wait().unwrap().success());
    for drawn in ["plots/processes.svg", "during/processes.svg"] {
        let svg = fs::read_to_string(path(drawn)).unwrap();
        assert!(svg.starts_with("<svg ") && svg.ends_with("</svg>\n"), "{svg}");
        assert!(names.iter().all(|name| svg.contains(name.as_str())), "{drawn}: {svg}");
    }
    // One that is killed loses nothing that it had said.
    let mut watch = Running::start(&arguments);
    let mut lines = BufReader::new(watch.0.stdout.take().unwrap()).lines();
    wait_for(&mut lines, &[&names[1]]);
    watch.0.kill().unwrap();
    watch.0.wait().unwrap();
    assert!(fs::read(&database).unwrap().starts_with(b"SQLite format 3\0"));
    let after = weir(&["plot", &database, "--svg", &path("after")]);
    assert!(after.status.success(), "{after:?}");
    assert!(fs::read_to_string(path("after/processes.svg")).unwrap().contains(&names[1]));
}

#[test]
fn prometheus_is_answered_with_figures_of_now() {
    let mut watch = Running::start(&["--tcp", "--network=lo", "--every", "20ms", "--listen", "127.0.0.1:0"]);
    let mut said = String::new();
    BufReader::new(watch.0.stderr.take().unwrap()).read_line(&mut said).unwrap();
    let address = said.split_once("http://").unwrap().1.split_once('/').unwrap().0;
    let scrape = || {
        let mut stream = TcpStream::connect(address).unwrap();
        stream.write_all(b"GET /metrics HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let value = answer
            .lines()
            .find_map(|line| line.strip_prefix("weir_watch_tcp_passive_opens_total{subject=\"tcp\"} "));
        value.map(|value| value.parse::<u64>().unwrap())
    };
    // Each scrape is a connection that is accepted here.
    let first = std::iter::repeat_with(scrape).find_map(|opens| opens).unwrap();
    assert!(std::iter::repeat_with(scrape).any(|opens| opens.unwrap() > first));
}

#[test]
fn tables_are_printed_where_there_is_no_terminal() {
    let output = weir(&["--host", "--network=lo", "--every", "10ms", "--count", "2"]);
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success());
    assert_eq!(text.matches("context_switches_per_s").count(), 2, "{text}");
    let last = text.lines().rev().find(|line| line.starts_with("host")).unwrap();
    assert!(text.contains("sent_bytes_per_s") && last.contains('%'), "{text}");
}

#[test]
fn what_is_not_there_is_said_by_name() {
    for (arguments, said) in [
        (&["--disks=nosuch", "--once"][..], "no block device \"nosuch\""),
        (&["--pid", "4294967295", "--once"], "no process has the number 4294967295"),
        (&["--every", "1ms"], "10ms at least"),
        (&["--host", "--once", "--output", "/proc/nowhere"], "/proc/nowhere"),
        (&["--listen", "192.0.2.1:80"], "192.0.2.1:80"),
        (&["--host", "--once", "--sqlite", "/proc/nowhere"], "/proc/nowhere"),
        (&["--host", "--once", "--sqlite", "/proc/version"], "/proc/version"),
        (&["--host", "--count", "1", "--svg", "/proc/nowhere"], "/proc/nowhere"),
        (&["plot", "/no/such/file", "--svg", "/tmp"], "/no/such/file"),
        (&["plot", "/etc/passwd", "--svg", "/tmp"], "/etc/passwd: file is not a database"),
    ] {
        let output = weir(arguments);
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {text}");
        assert!(text.contains(said), "{text}");
    }
}
