//! Tests of `weir watch`, as used by an engineer, by a cron job and by Prometheus.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use weir_e2e::Terminal;
use weir_testkit::{TempDir, untested};

fn weir(arguments: &[&str]) -> Output {
    Command::new(weir_e2e::program()).arg("watch").args(arguments).output().unwrap()
}

/// A process that is killed when the test ends.
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
    assert_eq!(lines[0][..6], ["time", "elapsed_s", "subject", "major", "minor", "reads"]);
    for (at, line) in kernel.lines().enumerate() {
        let words: Vec<&str> = line.split_whitespace().collect();
        for look in 0..2 {
            let row = &lines[1 + look * kernel.lines().count() + at];
            assert_eq!(row[2], words[2]);
            // All fields that this kernel provides, except those that change between samples.
            assert_eq!(row[3..5], words[..2]);
            assert_eq!(row[3..].iter().filter(|cell| !cell.is_empty()).count(), words.len() - 1, "{row:?}");
        }
    }
}

#[test]
fn a_file_of_an_older_weir_stays_as_it_is_and_figures_go_on_beside_it() {
    let directory = TempDir::new().unwrap();
    let (to, older) = (directory.path().display().to_string(), directory.path().join("disks.csv"));
    fs::write(&older, "time,elapsed_s,subject,reads\n1.000,0.000000,sda,5\n").unwrap();
    for is_said in [true, false] {
        let output = weir(&["--disks", "--once", "--output", &to]);
        assert!(output.status.success(), "{output:?}");
        assert_eq!(String::from_utf8(output.stderr).unwrap().contains("disks-2.csv"), is_said);
    }
    assert_eq!(fs::read_to_string(older).unwrap().lines().count(), 2);
    let disks = fs::read_to_string("/proc/diskstats").unwrap().lines().count();
    let newer = fs::read_to_string(directory.path().join("disks-2.csv")).unwrap();
    assert_eq!(newer.lines().count(), 1 + 2 * disks);
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

/// Starts an idle process with its own name; it is killed when the test ends.
fn idle(program: &Path) -> Running {
    let mut command = Command::new(program);
    Running(
        command.arg("600").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap(),
    )
}

/// Reads lines of JSON until one lists exactly these processes.
fn wait_for(lines: &mut impl Iterator<Item = std::io::Result<String>>, wanted: &[&str]) {
    let is_seen = |line: std::io::Result<String>| {
        let moment: Value = serde_json::from_str(&line.unwrap()).unwrap();
        let processes = moment["processes"].as_array().unwrap();
        // Rates exist only from the second sample on.
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
    // The watch continues to write, so its output must be read.
    std::thread::spawn(move || lines.for_each(drop));
    // Reads the database while it is written, and draws plots at the end.
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
    // A watch that is killed loses no sample that it has written.
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
    // Each scrape opens a connection, which the counter includes.
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
        (
            &["--process", "weirnosuch", "--count", "2", "--every", "10ms"],
            "no process is called \"weirnosuch\"",
        ),
        (&["--network=nosuch", "--once"], "nothing was recorded"),
        (&["--cgroup", "no/such", "--once"], "/sys/fs/cgroup/no/such"),
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

#[test]
fn what_is_there_is_recorded_and_what_is_missing_is_named() {
    let own = std::process::id();
    let pids = format!("{own},4294967295");
    let listed = ["--pid", &pids, "--network=lo,nosuch", "--disks=nosuchdisk"];
    for (when, is_awaited) in [(&["--once"][..], false), (&["--count", "2", "--every", "10ms"], true)] {
        let output = weir(&[&listed[..], when, &["--json"]].concat());
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(said.lines().count(), 3, "each of them, and once: {said}");
        for named in ["\"nosuch\": there are ", "\"nosuchdisk\"", "number 4294967295"] {
            assert!(said.contains(named), "{said}");
        }
        assert_eq!(said.contains("recorded from when it comes"), is_awaited);
        let lines = String::from_utf8(output.stdout).unwrap();
        let moment: Value = serde_json::from_str(lines.lines().next().unwrap()).unwrap();
        assert_eq!(moment["network"][0]["subject"], "lo");
        assert!(moment["processes"][0]["subject"].as_str().unwrap().ends_with(&format!("[{own}]")));
    }
}

#[test]
fn a_machine_without_counted_energy_has_cpu_seconds_in_its_place_and_says_so_once() {
    let output = weir(&["--energy", "--count", "3", "--every", "10ms", "--json"]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let said = String::from_utf8(output.stderr).unwrap();
    let lines = String::from_utf8(output.stdout).unwrap();
    let moment: Value = serde_json::from_str(lines.lines().last().unwrap()).unwrap();
    let row = &moment["energy"][0];
    // The test must pass on machines with and without energy counters.
    if row["energy_j"].is_number() {
        assert_eq!(said, "");
    } else {
        assert_eq!(said.matches("CPU-seconds stand in").count(), 1, "{said}");
        assert!(row["subject"] == "machine" && row["cpu_seconds"].as_f64().unwrap() > 0.0, "{row}");
        assert!(row["cpu_seconds_per_s"].is_number(), "{row}");
    }
}

/// A control group of version 2 that does not exist yet; it is removed when the test ends. `None` = control
/// groups cannot be created here.
struct Group(PathBuf);

impl Group {
    fn find() -> Option<Self> {
        let mounts = fs::read_to_string("/proc/self/mounts").unwrap();
        let root = mounts.lines().find_map(|line| {
            let mut words = line.split(' ').skip(1);
            let place = words.next()?;
            (words.next()? == "cgroup2" && place.starts_with("/sys/fs/cgroup")).then_some(place)
        })?;
        let group = Self(Path::new(root).join(format!("weir-watch-{}", std::process::id())));
        fs::create_dir(&group.0).ok()?;
        fs::remove_dir(&group.0).unwrap();
        Some(group)
    }

    fn take_in(&self, process: &Running) -> bool {
        fs::create_dir_all(self.0.join("below")).unwrap();
        fs::write(self.0.join("below/cgroup.procs"), process.0.id().to_string()).is_ok()
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        let _ = fs::remove_dir(self.0.join("below"));
        let _ = fs::remove_dir(&self.0);
    }
}

#[test]
fn a_control_group_that_comes_has_what_its_processes_have_and_keeps_what_they_did() {
    let Some(group) = Group::find() else {
        return untested("no control group of version 2 can be made here");
    };
    let path = group.0.display().to_string();
    let mut watch = Running::start(&["--cgroup", &path, "--every", "20ms", "--json"]);
    let mut said = String::new();
    BufReader::new(watch.0.stderr.take().unwrap()).read_line(&mut said).unwrap();
    assert!(said.contains(&path) && said.contains("from when it comes"), "{said}");
    let processes = [idle(Path::new("/bin/sleep")), idle(Path::new("/bin/sleep"))];
    if !processes.iter().all(|process| group.take_in(process)) {
        return untested("no process can be moved into a control group here");
    }
    let mut lines = BufReader::new(watch.0.stdout.take().unwrap()).lines();
    let mut wait_for = |processes: u64| {
        let find = |line: std::io::Result<String>| {
            let moment: Value = serde_json::from_str(&line.unwrap()).unwrap();
            let row = moment["cgroups"].as_array().unwrap().first().cloned();
            // PSS is sampled less often, so its value may still be that of fewer processes.
            let is_whole = |row: &Value| processes == 0 || row["proportional_bytes"].as_f64() > Some(0.0);
            row.filter(|row| row["processes"].as_u64() == Some(processes) && is_whole(row))
        };
        lines.find_map(find).unwrap()
    };
    let both = wait_for(2);
    assert_eq!(
        (both["threads"].as_u64(), both["subject"].as_str()),
        (Some(2), path.strip_prefix("/sys/fs/cgroup/"))
    );
    for figure in ["resident_bytes", "proportional_bytes", "descriptors", "members_at_s"] {
        assert!(both[figure].as_f64().unwrap() > 0.0, "{figure}: {both}");
    }
    let [one, other] = processes;
    drop(one);
    let alone = wait_for(1);
    assert!(alone["resident_bytes"].as_u64() < both["resident_bytes"].as_u64(), "{alone} {both}");
    drop(other);
    let none = wait_for(0);
    for counter in ["voluntary_switches", "involuntary_switches", "minor_faults"] {
        assert!(none[counter].as_u64() >= both[counter].as_u64(), "{counter}: {none} {both}");
    }
}

#[test]
fn the_whole_screen_shows_what_a_process_has_and_what_is_missing_until_q() {
    let pids = format!("{},4294967295", std::process::id());
    let mut command = Command::new(weir_e2e::program());
    command.args(["watch", "--pid", &pids, "--every", "50ms"]);
    let mut terminal = Terminal::start(command);
    terminal.wait_for("no process has the number 4294967295");
    terminal.wait_for("\u{1b}[?1049h");
    terminal.wait_for("4294967295");
    for figure in ["switches_per_s", "threads", "resident_bytes", "proportional_bytes", "descriptors"] {
        terminal.wait_for(figure);
    }
    terminal.press("q");
    terminal.wait_for("\u{1b}[?1049l");
    assert_eq!(terminal.process.wait().unwrap().code(), Some(0));
}
