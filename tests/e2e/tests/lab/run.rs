//! Tests of `weir lab` as an engineer and a CI job use it, with the balancers on this machine.

use std::fs;
use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use weir_e2e::{Lab, text};
use weir_origin::Origin;
use weir_testkit::{PATIENCE, wait_until};

const TINY: &str = "repeats = 2\nwarm-up = \"20ms\"\npause = \"0ms\"\nwatch = \"50ms\"\n[servers]\ncount = 2\n\
    [[test]]\nname = \"closed\"\nconnections = 2\nrequests = 40\nsize = \"1KiB\"\n\
    [[test]]\nname = \"open\"\nrate = 100\nrequests = 20\nsize = \"10KiB\"\n";

/// Returns the number of processes whose working directory is below `directory`, even if it was deleted.
fn processes_in(directory: &Path) -> usize {
    let entries = fs::read_dir("/proc").unwrap().flatten();
    let places = entries.filter_map(|entry| fs::read_link(entry.path().join("cwd")).ok());
    places.filter(|place| place.starts_with(directory)).count()
}

/// Returns the number of processes whose command line contains `needle`.
fn processes_of(needle: &str) -> usize {
    let entries = fs::read_dir("/proc").unwrap().flatten();
    let lines = entries.filter_map(|entry| fs::read(entry.path().join("cmdline")).ok());
    lines.filter(|line| String::from_utf8_lossy(line).replace('\0', " ").contains(needle)).count()
}

#[test]
fn balancers_take_turns_and_everything_about_it_is_told() {
    let bench = Lab::new(&format!(
        "rivals = [\"none\", \"weir\", \"haproxy\", \"nginx\", \"apache\"]\nalgorithms = \"round-robin\"\nmonitors = [\"interfaces\", \"energy\", \"disks\"]\n{TINY}"
    ));
    let output = bench.run(&[
        "run",
        "tiny.toml",
        "--json",
        "--html",
        "r.html",
        "--markdown",
        "r.md",
        "--csv",
        "r.csv",
    ]);
    let said = output.text();
    let report = output.json();
    let left_out = said.matches(" is left out: ").count();
    let runs = (5 - left_out) * 2 * 2;
    assert_eq!(report["runs"], runs, "{said}");
    let invalid = report["invalid"].as_array().unwrap().len();
    assert_eq!(output.code(), Some(if invalid == runs { 1 } else { 0 }), "{said}");
    let page = fs::read_to_string(bench.path("r.html")).unwrap();
    assert!(page.contains("<table>") && page.contains("[listener.web]") && page.contains("Configurations"));
    assert_eq!(fs::read_to_string(bench.path("r.csv")).unwrap().lines().count(), runs + 1);
    let markdown = fs::read_to_string(bench.path("r.md")).unwrap();
    assert!(markdown.contains("## What was left out"));
    let is_watched =
        markdown.contains("| interfaces | lo | received_bytes | ") && markdown.contains("| energy | ");
    assert!(is_watched || invalid == runs, "{markdown}");

    // A second run finds all results present.
    let again = bench.run(&["run", "tiny.toml", "--json"]);
    assert!(
        again.text().contains(&format!("{runs} runs, {runs} of them are there already")),
        "{}",
        again.text()
    );
    assert_eq!(again.json(), report);
    assert_eq!(bench.run(&["report", "tiny.sqlite", "--json"]).json(), report);
    let markdown = bench.run(&["report", "tiny.sqlite"]);
    assert!(markdown.text().starts_with("# tiny.toml\n"), "{}", markdown.text());

    // No result is worse than itself, but so few runs prove nothing. Runs of another scenario are not added
    // to the same file.
    if invalid < runs {
        let compared = bench.run(&["compare", "tiny.sqlite", "tiny.sqlite"]);
        assert_eq!(compared.code(), Some(2), "{}", compared.text());
        assert!(compared.text().contains("too few runs"), "{}", compared.text());
        assert!(compared.text().contains("0 contradict each other"), "{}", compared.text());
    }
    fs::write(bench.path("tiny.toml"), TINY).unwrap();
    let other = bench.run(&["run", "tiny.toml"]);
    assert!(
        other.code() == Some(2) && other.text().contains("results of another scenario"),
        "{}",
        other.text()
    );
}

#[test]
fn an_export_is_reported_and_compared_like_the_file_that_it_was_made_of() {
    let bench = Lab::new(&format!("rivals = \"weir\"\n{TINY}"));
    bench.run(&["run", "tiny.toml", "--quiet"]);
    let exported = bench.run(&["export", "tiny.sqlite"]);
    assert_eq!(exported.json()["runs"].as_array().unwrap().len(), 4, "{}", exported.text());
    fs::write(bench.path("tiny.json"), &exported.output.stdout).unwrap();
    let report = |file: &str| bench.run(&["report", file]).text();
    assert_eq!(report("tiny.json"), report("tiny.sqlite"));
    let compared = bench.run(&["compare", "tiny.sqlite", "tiny.json"]).text();
    assert!(!compared.contains("WORSE") && compared.contains("0 contradict each other"), "{compared}");
    assert_eq!(bench.run(&["export", "tiny.json"]).text(), exported.text());
    // Runs are not added to an export, and the export does not change.
    let output = bench.run(&["run", "tiny.toml", "--output", "tiny.json"]);
    assert!(output.code() == Some(2) && output.text().contains("tiny.json: "), "{}", output.text());
    assert_eq!(bench.read("tiny.json"), exported.text());
    let none = bench.run(&["report", "tiny.toml"]);
    assert!(
        none.code() == Some(2) && none.text().contains("tiny.toml: neither a SQLite file"),
        "{}",
        none.text()
    );
}

#[test]
fn shares_of_servers_are_those_of_the_algorithm() {
    let bench = Lab::new(&format!("rivals = \"weir\"\nalgorithms = \"round-robin\"\n{TINY}"));
    let output = bench.run(&["run", "tiny.toml", "--quiet", "--json"]);
    let markdown = bench.run(&["report", "tiny.sqlite"]).text();
    let invalid = markdown.contains("closed, weir, repeat");
    // A run whose generator lacked CPU time is left out and shows no shares.
    assert!(invalid || markdown.contains("s1 40, s2 40"), "{markdown}");
    let report = output.json();
    let each = report["servers"].as_array().unwrap().iter().find(|run| run["case"] == "closed");
    let equal = |run: &serde_json::Value| run["of"][0]["requests"] == 20 && run["of"][1]["requests"] == 20;
    assert!(invalid || each.is_some_and(equal), "{report}");
}

#[test]
fn what_a_comparison_was_made_with_is_kept_and_told() {
    let bench = Lab::new(&format!("rivals = \"weir\"\n{}", TINY.replace("repeats = 2", "repeats = 1")));
    let git = |arguments: &[&str]| {
        let mut command = Command::new("git");
        command
            .args(["-c", "user.name=a", "-c", "user.email=a@b.example", "-c", "commit.gpgsign=false"])
            .args(arguments);
        let output = command.current_dir(bench.directory()).output().unwrap();
        assert!(output.status.success(), "git {arguments:?}: {}", text(&output));
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    };
    git(&["init", "--quiet"]);
    git(&["commit", "--quiet", "--allow-empty", "--message", "a state of things"]);
    bench.run(&["run", "tiny.toml", "--quiet", "--markdown", "r.md"]);
    let report = bench.read("r.md");
    let line = |path: &str| fs::read_to_string(path).unwrap().trim().replace('\t', " ");
    let version = Command::new(weir_e2e::program()).arg("--version").output().unwrap();
    let version = text(&version).trim().trim_start_matches("weir ").to_owned();
    for (what, value) in [
        (
            "commit of the directory in which it was started (programs may be of another)",
            git(&["rev-parse", "HEAD"]),
        ),
        ("kernel", line("/proc/sys/kernel/osrelease")),
        ("net.core.somaxconn", line("/proc/sys/net/core/somaxconn")),
        ("net.ipv4.tcp_rmem", line("/proc/sys/net/ipv4/tcp_rmem")),
        ("processors", std::thread::available_parallelism().unwrap().to_string()),
        ("weir", version),
    ] {
        assert!(report.contains(&format!("\n| {what} | {value}")), "{what}, {value}: {report}");
    }
    assert!(report.contains("bind = \"127.0.0.1:"), "the configuration: {report}");
}

#[test]
fn an_interrupted_lab_leaves_nothing_and_is_gone_on_with() {
    let slow = TINY.replace("repeats = 2", "repeats = 1").replace("pause = \"0ms\"", "pause = \"6s\"");
    let bench = Lab::new(&format!("rivals = \"weir\"\n{slow}"));
    let mut child = bench.start(&["run", "tiny.toml"], 1);
    let pid = rustix::process::Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(2));
    let said = bench.run(&["run", "tiny.toml"]).text();
    assert!(said.contains("2 runs, 1 of them are there already"), "{said}");
    assert_eq!(bench.run(&["report", "tiny.sqlite", "--json"]).json()["runs"], 2);
}

#[test]
fn a_gate_stops_what_is_missing() {
    let bench = Lab::new(&format!("rivals = \"weir\"\n{TINY}"));
    bench.run(&["run", "tiny.toml", "--quiet", "--output", "whole.sqlite"]);
    let slow = TINY.replace("pause = \"0ms\"", "pause = \"1m\"");
    fs::write(bench.path("slow.toml"), format!("rivals = \"weir\"\n{slow}")).unwrap();
    // The only run is of the first case; the second case has none.
    let mut child = bench.start(&["run", "slow.toml", "--output", "part.sqlite"], 1);
    let pid = rustix::process::Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    child.wait().unwrap();
    let whole = bench.run(&["report", "whole.sqlite", "--json"]).json();
    let is_valid = |case: &str| whole["figures"].as_array().unwrap().iter().any(|cell| cell["case"] == case);
    if !is_valid("open") {
        return weir_testkit::untested("too busy for a single valid run");
    }
    let compared = bench.run(&["compare", "whole.sqlite", "part.sqlite"]);
    assert_eq!(compared.code(), Some(1), "{}", compared.text());
    let said = compared.text();
    assert!(
        said.contains("open, weir: ") && said.contains("none in the second (it was not played): WORSE"),
        "{said}"
    );
    let compared = bench.run(&["compare", "whole.sqlite", "part.sqlite", "--json"]).json();
    assert_eq!(compared["worse"], true);
    assert!(!compared["missing"].as_array().unwrap().is_empty(), "{compared}");
}

#[test]
fn a_file_of_another_program_is_not_gone_on_with() {
    let slow = TINY.replace("pause = \"0ms\"", "pause = \"2s\"");
    let bench = Lab::new(&format!("rivals = [{{ product = \"weir\", program = \"./balancer\" }}]\n{slow}"));
    let script = |version: &str| {
        let program = weir_e2e::program();
        format!(
            "#!/bin/sh\nif [ \"$1\" = --version ]; then echo weir {version}; exit; fi\nexec {} \"$@\"\n",
            Path::new(&program).display()
        )
    };
    let write = |version: &str| {
        fs::write(bench.path("balancer"), script(version)).unwrap();
        fs::set_permissions(bench.path("balancer"), fs::Permissions::from_mode(0o755)).unwrap();
    };
    write("1.0");
    let absolute = fs::read_to_string(bench.path("tiny.toml")).unwrap();
    let absolute = absolute.replace("./balancer", &bench.path("balancer").display().to_string());
    fs::write(bench.path("tiny.toml"), absolute).unwrap();
    let mut child = bench.start(&["run", "tiny.toml"], 1);
    let pid = rustix::process::Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    child.wait().unwrap();
    write("1.1");
    let refused = bench.run(&["run", "tiny.toml"]);
    let said = refused.text();
    assert_eq!(refused.code(), Some(2), "{said}");
    assert!(said.contains("rival weir was 1.0 ") && said.contains(", is 1.1 "), "{said}");
    assert!(said.contains("--output"), "{said}");
}

#[test]
fn a_lab_that_is_ended_while_it_waits_for_a_rival_ends_and_leaves_nothing() {
    let bench = Lab::new("");
    let program = bench.path("silent");
    fs::write(&program, "#!/bin/sh\n[ \"$1\" = -v ] && echo silent 1.0 && exit\nexec sleep 600\n").unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    let rival =
        format!("rivals = {{ product = \"haproxy\", program = {:?} }}\n", program.display().to_string());
    fs::write(bench.path("tiny.toml"), format!("{rival}{TINY}")).unwrap();
    let child =
        bench.command(&["run", "tiny.toml"]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    // Two servers and the rival.
    wait_until("its rival", PATIENCE, || {
        ledger_of(child.id()).is_some_and(|ledger| ledger.matches("\nprocess ").count() == 3)
    });
    let directory = work_directory_of(child.id()).unwrap();
    let pid = rustix::process::Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(2), "{}", text(&output));
    // The message does not blame the rival, although the lab was waiting for it.
    assert!(text(&output).contains("stopped; started again"), "{}", text(&output));
    assert!(!directory.exists() && processes_of(&directory.display().to_string()) == 0);
}

#[test]
fn a_lab_that_nobody_listens_to_any_more_ends_and_leaves_nothing() {
    let bench = Lab::new(&format!("rivals = \"weir\"\n{}", TINY.replace("repeats = 2", "repeats = 500")));
    let mut child =
        bench.command(&["run", "tiny.toml"]).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
    assert!(lines.any(|line| line.is_ok_and(|line| line.starts_with("[1/"))));
    let directory = work_directory_of(child.id()).unwrap();
    drop(lines);
    assert_eq!(child.wait().unwrap().code(), Some(2));
    assert!(!directory.exists() && processes_of(&directory.display().to_string()) == 0);
    assert_eq!(ledger_of(child.id()), None);
}

#[test]
fn what_a_killed_lab_leaves_is_taken_away() {
    let bench =
        Lab::new(&format!("rivals = \"weir\"\n{}", TINY.replace("requests = 40", "duration = \"10m\"")));
    let scenario = fs::read_to_string(bench.path("tiny.toml")).unwrap();
    // Cases run in the order of the file, so this puts the short one first.
    let (head, tests) = scenario.split_once("[[test]]").unwrap();
    let (closed, open) = tests.split_once("[[test]]").unwrap();
    fs::write(bench.path("tiny.toml"), format!("{head}[[test]]{open}\n[[test]]{closed}")).unwrap();
    let mut child = bench.start(&["run", "tiny.toml"], 1);
    let directory = {
        let mut found = None;
        wait_until("a ledger", PATIENCE, || {
            found = work_directory_of(child.id());
            found.is_some()
        });
        found.unwrap()
    };
    let name = directory.display().to_string();
    wait_until("processes of the lab", PATIENCE, || processes_of(&name) > 0);
    // Kills the lab at an arbitrary moment, possibly between the start of a process and its entry in the
    // ledger.
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(directory.exists() && processes_of(&name) > 0 && processes_in(&directory) > processes_of(&name));
    bench.run(&["clean"]);
    // A lab of another test that starts at this moment may do the cleanup instead.
    wait_until("the end of all of it", PATIENCE, || {
        processes_of(&name) == 0 && processes_in(&directory) == 0 && !directory.exists()
    });
}

fn ledger_of(pid: u32) -> Option<String> {
    let runtime = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from).filter(|path| path.is_dir());
    let temporary = || std::env::temp_dir().join(format!("weir-lab-{}", rustix::process::geteuid().as_raw()));
    let own = runtime.map_or_else(temporary, |path| path.join("weir-lab"));
    let ledgers =
        [PathBuf::from("/run/weir-lab"), own].into_iter().filter_map(|path| fs::read_dir(path).ok());
    let is_its = |name: &str| name.starts_with(&format!("{pid}-")) && name.ends_with(".ledger");
    let mut names = ledgers.flatten().flatten().filter(|entry| is_its(&entry.file_name().to_string_lossy()));
    fs::read_to_string(names.next()?.path()).ok()
}

/// Reads the work directory from the lab's ledger.
fn work_directory_of(pid: u32) -> Option<PathBuf> {
    ledger_of(pid)?.lines().find_map(|line| line.strip_prefix("directory ")).map(PathBuf::from)
}

#[test]
fn what_is_wrong_is_told_with_its_line() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port();
    for (scenario, said) in [
        (
            TINY.replace("repeats = 2", "rivals = [\"weir\", \"haproxi\"]"),
            vec!["tiny.toml:1", "haproxi", "did you mean \"haproxy\"?"],
        ),
        (TINY.replace("rate = 100", "rate = 0"), vec!["tiny.toml:14", "out of range"]),
        (format!("{TINY}[balancer]\nport = {port}\n"), vec!["tiny.toml:18", "cannot listen on 127.0.0.1"]),
        (
            format!("rivals = {{ product = \"nginx\", program = \"/nowhere/nginx\" }}\n{TINY}"),
            vec!["tiny.toml:1", "/nowhere/nginx"],
        ),
        (
            format!("rivals = {{ product = \"haproxy\", program = \"/bin/false\" }}\n{TINY}"),
            vec!["tiny.toml:1", "haproxy ended at once"],
        ),
    ] {
        let bench = Lab::new(&scenario);
        let output = bench.run(&["run", "tiny.toml"]);
        assert_eq!(output.code(), Some(2), "{}", output.text());
        for part in said {
            assert!(output.text().contains(part), "{part}: {}", output.text());
        }
    }
    let bench = Lab::new("");
    let unknown = bench.run(&["run", "smal-files"]);
    assert!(unknown.text().contains("did you mean \"small-files\"?"), "{}", unknown.text());
    let none = bench.run(&["report", "nothing.sqlite"]);
    assert!(none.code() == Some(2) && none.text().contains("nothing.sqlite: there is no such file"));
}

#[test]
fn who_does_not_start_is_left_out_and_the_others_go_on() {
    let rivals = "rivals = [\"weir\", { product = \"haproxy\", program = \"/bin/false\" }, \"none\"]\n";
    let bench = Lab::new(&format!("{rivals}{TINY}"));
    let output = bench.run(&["run", "tiny.toml", "--json", "--markdown", "r.md", "--csv", "r.csv"]);
    let said = output.text();
    // Two repeats of two cases for each of the two remaining rivals.
    assert_eq!(output.json()["runs"], 8, "{said}");
    assert_eq!(output.code(), Some(2), "{said}");
    assert!(said.contains("left out on the way, see the report: haproxy"), "{said}");
    assert_eq!(output.json()["left_out"][0]["rival"], "haproxy", "{said}");
    let report = bench.read("r.md");
    assert!(
        report.contains("> **Warning:** Left out, for reasons that are listed below: haproxy."),
        "{report}"
    );
    assert!(report.contains("repeat 1: haproxy ended at once"), "{report}");
    assert!(bench.csv("r.csv").iter().all(|run| run.get("rival") != "haproxy"));
    // A second run tries the missing rival again and has nothing else to do.
    let again = bench.run(&["run", "tiny.toml"]);
    assert!(again.text().contains("12 runs, 8 of them are there already"), "{}", again.text());
    assert_eq!(again.code(), Some(2), "{}", again.text());
}

#[test]
fn parties_have_networks_of_their_own_and_these_are_gone_afterwards() {
    let is_possible = rustix::process::geteuid().is_root() && Path::new("/usr/sbin/ip").exists();
    if !is_possible {
        return weir_testkit::untested("needs root and ip");
    }
    let topology = "topology = { kind = \"namespaces\", server-rate = 1000, scale = 2 }\n";
    let bench = Lab::new(&format!("{topology}rivals = [\"none\", \"weir\", \"nginx\"]\n{TINY}"));
    let output = bench.run(&["run", "tiny.toml"]);
    let prefix = format!("weir-lab-{}-", output.pid);
    let markdown = bench.run(&["report", "tiny.sqlite"]).text();
    assert!(
        markdown.contains("network namespaces") && markdown.contains("500 Mbit/s, all divided by 2"),
        "{}{markdown}",
        output.text()
    );
    assert!(markdown.contains("bind = \"198.18.0.2:8000\""), "{markdown}");
    let left = Command::new("ip").args(["netns", "list"]).output().unwrap();
    assert!(!text(&left).contains(&prefix), "{}", text(&left));
}

#[test]
fn without_the_right_to_make_networks_it_is_played_over_loopback_and_says_so() {
    let bench = Lab::new(&format!("topology = {{ kind = \"namespaces\" }}\nrivals = \"weir\"\n{TINY}"));
    let mut command = bench.command(&["run", "tiny.toml"]);
    if rustix::process::geteuid().is_root() {
        // Runs as the user `nobody`, with write access to the directory.
        fs::set_permissions(bench.directory(), fs::Permissions::from_mode(0o777)).unwrap();
        let mut as_nobody = Command::new("setpriv");
        as_nobody
            .args(["--reuid", "65534", "--regid", "65534", "--clear-groups", "--"])
            .arg(command.get_program());
        as_nobody.args(command.get_args()).current_dir(bench.directory());
        as_nobody.env("TMPDIR", bench.directory()).env_remove("XDG_RUNTIME_DIR").stdin(Stdio::null());
        command = as_nobody;
    }
    let said = text(&command.output().unwrap());
    assert!(said.contains("tiny.toml:1") && said.contains("network namespaces need root"), "{said}");
    let markdown = bench.run(&["report", "tiny.sqlite"]).text();
    assert!(
        markdown.contains("Played over loopback, although namespaces were asked for"),
        "{said}{markdown}"
    );
}

#[test]
fn servers_of_every_kind_serve_and_one_that_is_killed_comes_back() {
    for (kind, balancer, test) in [
        ("storage", "tls-in = true\ntls-out = true", "connections = 2\nrequests = 20\nsize = \"10KiB\""),
        ("storage", "", "rate = 50\nrequests = 10\nmethod = \"PUT\"\npath = \"/f-{i}\"\nbody = \"10KiB\""),
        ("nginx", "tls-out = true", "connections = 2\nrequests = 20\nsize = \"10KiB\""),
        ("apache", "tls-out = true", "connections = 2\nrequests = 20\nsize = \"10KiB\""),
        ("apache", "check = \"/health\"", "rate = 50\nrequests = 10\nsize = \"10KiB\""),
        (
            "origin",
            "check = \"/health\"",
            "rate = 100\nduration = \"400ms\"\nsize = \"1KiB\"\nkill-for = \"50ms\"",
        ),
    ] {
        let head = "rivals = [\"weir\"]\nrepeats = 1\nwarm-up = \"0ms\"\nwatch = \"50ms\"";
        let bench = Lab::new(&format!(
            "{head}\n[servers]\nkind = \"{kind}\"\n[balancer]\n{balancer}\n[[test]]\n{test}\n"
        ));
        let output = bench.run(&["run", "tiny.toml", "--json"]);
        if output.text().contains(&format!("there is no program {kind}")) {
            weir_testkit::untested(format!("needs {kind}"));
            continue;
        }
        let report = output.json();
        assert_eq!(report["runs"], 1, "{}", output.text());
        bench.run(&["report", "tiny.sqlite", "--csv", "r.csv"]);
        let run = &bench.csv("r.csv")[0];
        let (sent, succeeded) = (run.number("sent"), run.number("succeeded"));
        assert!(sent >= 10.0 && succeeded >= sent * 0.9, "{kind} {balancer}: {run:?}{}", output.text());
    }
}

#[test]
fn the_highest_rate_is_found_where_there_is_one() {
    let origin = Origin::builder().name("a").start().unwrap();
    let bench = Lab::new("");
    let url = format!("http://{}/bytes/100", origin.addr());
    let fast = [
        "--latency",
        "20s",
        "--start",
        "20",
        "--max",
        "40",
        "--for",
        "200ms",
        "--votes",
        "1",
        "--json",
        "--confidence",
        "90",
    ];
    let output = bench.run(&[&["find-capacity", url.as_str()][..], &fast].concat());
    // On a busy machine, the generator may lack CPU time; the program then reports that it has no result.
    match output.code() {
        Some(0) => {
            let found = output.json();
            assert_eq!(found["per_s"], 40.0, "{found}");
            assert_eq!(found["confidence"], 0.9, "{found}");
            assert!(found["missed_per_s"].is_null(), "{found}");
        }
        _ => assert!(output.text().contains("the generator did not do"), "{}", output.text()),
    }
    let dead = weir_testkit::RefusingPort::new();
    let url = format!("http://{}/", dead.addr());
    let output = bench.run(&["find-capacity", &url, "--start", "4", "--for", "100ms", "--votes", "1"]);
    assert!(
        output.text().contains("no rate keeps") || output.text().contains("the generator did not do"),
        "{}",
        output.text()
    );
    assert_ne!(output.code(), Some(0));
}
