//! Tests of `weir demo`: its summary, its live view, and the removal of its processes and files.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::fs;
use std::process::Command;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use weir_e2e::Terminal;
use weir_testkit::{Child, PATIENCE, Signal, TempDir, wait_until};

/// Maximum wait for a demo. A demo takes some seconds; the rest is for a busy machine.
const DEMO_MAX: Duration = Duration::from_secs(100);

/// Escape sequences that open and close the alternate screen (xterm's 1049). The text of the view itself
/// arrives in fragments.
const VIEW_OPENS: &str = "\u{1b}[?1049h";
const VIEW_CLOSES: &str = "\u{1b}[?1049l";

/// A directory for the demo's directory, which also identifies its processes.
struct Ground {
    directory: TempDir,
    /// Allows one demo at a time: each has at least nine processes and much traffic.
    _turn: MutexGuard<'static, ()>,
}

impl Ground {
    fn new() -> Self {
        static TURN: Mutex<()> = Mutex::new(());
        let turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
        Self { directory: TempDir::new().expect("temporary directory"), _turn: turn }
    }

    fn demo(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(weir_e2e::program());
        command.arg("demo").args(arguments).env("TMPDIR", self.directory.path());
        command
    }

    fn has_files(&self) -> bool {
        fs::read_dir(self.directory.path()).expect("own directory").next().is_some()
    }

    /// Returns the names of the processes whose environment contains the directory: they inherited it, or,
    /// for those of the fleet, received it. Dead processes have no environment.
    fn processes(&self) -> Vec<String> {
        let directory = self.directory.path().display();
        let marks = [format!("TMPDIR={directory}\0"), format!("WEIR_FLEET_MACHINE={directory}/")];
        let processes = fs::read_dir("/proc").expect("/proc").filter_map(Result::ok);
        let marked = processes.filter(|process| {
            let environment = fs::read(process.path().join("environ")).unwrap_or_default();
            marks.iter().any(|mark| environment.windows(mark.len()).any(|part| part == mark.as_bytes()))
        });
        let command_line =
            |process: fs::DirEntry| fs::read(process.path().join("cmdline")).unwrap_or_default();
        marked.map(|process| String::from_utf8_lossy(&command_line(process)).replace('\0', " ")).collect()
    }

    #[track_caller]
    fn assert_nothing_is_left(&self) {
        assert_eq!(self.processes(), Vec::<String>::new(), "processes are left");
        assert!(!self.has_files(), "files are left");
    }
}

/// Returns name, state and requests of each server in a summary.
fn servers(summary: &[String]) -> Vec<(String, String, u64)> {
    let rows = summary.iter().skip_while(|line| !line.contains("REQUESTS")).skip(1);
    let rows = rows.take_while(|line| !line.is_empty());
    rows.map(|row| {
        let cells: Vec<_> = row.split("  ").map(str::trim).filter(|cell| !cell.is_empty()).collect();
        (cells[0].to_owned(), cells[2].to_owned(), cells[3].parse().expect("a count"))
    })
    .collect()
}

/// Returns the number of requests if all of them were answered with 200.
fn all_answered(summary: &[String]) -> Option<u64> {
    let total = summary.iter().find(|line| line.contains(" requests: "))?;
    let (_, after_seconds) = total.split_once(" s ")?;
    let count = after_seconds.split(' ').next()?;
    after_seconds
        .starts_with(&format!("{count} requests: {count} answered with 200, 0 failed;"))
        .then_some(())?;
    count.parse().ok()
}

#[test]
fn every_server_gets_its_share_and_no_request_fails() {
    let ground = Ground::new();
    let mut demo = Child::spawn(ground.demo(&["--once"]));
    assert_eq!(demo.wait(DEMO_MAX).code(), Some(0));
    let summary = demo.output();
    let servers = servers(&summary);
    let names: Vec<_> = servers.iter().map(|(name, _, _)| name.as_str()).collect();
    assert_eq!(names, ["a", "b", "c", "d"], "{summary:#?}");
    assert!(servers.iter().all(|(_, _, requests)| *requests > 0), "{summary:#?}");
    let sent = all_answered(&summary).unwrap_or_else(|| panic!("{summary:#?}"));
    let received: u64 = servers.iter().map(|(_, _, requests)| requests).sum();
    assert!(sent > 100 && received >= sent, "{summary:#?}");
    let shared = "a file was uploaded through the balancer, and store-1 and store-2 have it";
    assert!(summary.iter().any(|line| line == shared), "{summary:#?}");
    let fleet = summary.iter().find(|line| line.starts_with("fleet app rose from 1 to 4 servers in "));
    assert!(
        fleet.is_some_and(|line| line.contains(" and fell back in ") && line.ends_with(", 0 failed")),
        "{summary:#?}"
    );
    ground.assert_nothing_is_left();
}

#[test]
fn a_server_that_is_killed_leaves_and_no_request_fails() {
    let ground = Ground::new();
    let mut demo = Child::spawn(ground.demo(&["--once", "--kill-one"]));
    assert_eq!(demo.wait(DEMO_MAX).code(), Some(0));
    let summary = demo.output();
    let (_, state, _) = &servers(&summary)[2];
    assert!(state.starts_with("down") || state.starts_with("ejected"), "{summary:#?}");
    assert!(all_answered(&summary).is_some(), "{summary:#?}");
    assert!(summary.iter().any(|line| line.starts_with("server c was killed")), "{summary:#?}");
    ground.assert_nothing_is_left();
}

#[test]
fn without_a_terminal_there_is_one_summary_and_a_note() {
    let ground = Ground::new();
    let mut demo = Child::spawn(ground.demo(&[]));
    assert_eq!(demo.wait(DEMO_MAX).code(), Some(0));
    let summary = demo.output();
    assert!(summary.iter().any(|line| line.contains("no terminal")), "{summary:#?}");
    assert_eq!(servers(&summary).len(), 4, "{summary:#?}");
    ground.assert_nothing_is_left();
}

#[test]
fn signals_end_everything() {
    for signal in [Signal::INT, Signal::TERM, Signal::HUP] {
        let ground = Ground::new();
        let mut demo = Child::spawn(ground.demo(&["--once"]));
        demo.wait_for_line(DEMO_MAX, |line| line.contains("the balancer run"));
        // The demo, four web servers, two storage nodes, the balancer, and the machines that the fleet has by
        // now.
        assert!(ground.processes().len() >= 9, "{:#?}", ground.processes());
        demo.signal(signal);
        assert_eq!(demo.wait(DEMO_MAX).code(), Some(2), "{signal:?}: {:#?}", demo.output());
        ground.assert_nothing_is_left();
    }
}

#[test]
fn children_die_with_a_demo_that_is_killed() {
    let ground = Ground::new();
    let mut demo = Child::spawn(ground.demo(&["--once"]));
    demo.wait_for_line(DEMO_MAX, |line| line.contains("the balancer run"));
    demo.signal(Signal::KILL);
    demo.wait(PATIENCE);
    wait_until("the end of all children", PATIENCE, || ground.processes().is_empty());
}

#[test]
fn the_next_demo_removes_the_files_of_one_that_was_killed() {
    let ground = Ground::new();
    let mut killed = Child::spawn(ground.demo(&["--once"]));
    killed.wait_for_line(DEMO_MAX, |line| line.contains("the balancer run"));
    killed.signal(Signal::KILL);
    killed.wait(PATIENCE);
    wait_until("the end of all children", PATIENCE, || ground.processes().is_empty());
    assert!(ground.has_files(), "nobody was left to remove them");
    let mut next = Child::spawn(ground.demo(&["--once"]));
    assert_eq!(next.wait(DEMO_MAX).code(), Some(0));
    ground.assert_nothing_is_left();
}

#[test]
fn a_demo_leaves_the_files_of_another_that_runs_alone() {
    let ground = Ground::new();
    let mut first = Terminal::start(ground.demo(&[]));
    first.wait_for("q closes it.");
    let mut second = Child::spawn(ground.demo(&["--once"]));
    assert_eq!(second.wait(DEMO_MAX).code(), Some(0));
    assert!(ground.has_files(), "those of the first");
    let pid = rustix::process::Pid::from_child(&first.process);
    rustix::process::kill_process(pid, Signal::TERM).expect("signal");
    first.wait_for("0 failed");
    assert_eq!(first.process.wait().expect("wait").code(), Some(0));
    ground.assert_nothing_is_left();
}

#[test]
fn on_a_terminal_the_live_view_opens_and_closes_until_the_user_has_seen_enough() {
    let ground = Ground::new();
    let mut terminal = Terminal::start(ground.demo(&[]));
    terminal.wait_for("kill -9 ");
    terminal.wait_for("q closes it.");
    terminal.press("\n");
    terminal.wait_for(VIEW_OPENS);
    terminal.press("q");
    terminal.wait_for(VIEW_CLOSES);
    terminal.wait_for("0 failed");
    terminal.wait_for("Enter opens the live view again");
    terminal.press("q\n");
    terminal.wait_for("0 failed");
    let status = terminal.process.wait().expect("wait");
    assert_eq!(status.code(), Some(0));
    ground.assert_nothing_is_left();
}

#[test]
fn a_signal_ends_the_live_view_and_everything_else() {
    let ground = Ground::new();
    let mut terminal = Terminal::start(ground.demo(&[]));
    terminal.wait_for("q closes it.");
    terminal.press("\n");
    terminal.wait_for(VIEW_OPENS);
    let pid = rustix::process::Pid::from_child(&terminal.process);
    rustix::process::kill_process(pid, Signal::TERM).expect("signal");
    terminal.wait_for(VIEW_CLOSES);
    terminal.wait_for("0 failed");
    assert_eq!(terminal.process.wait().expect("wait").code(), Some(0));
    ground.assert_nothing_is_left();
}

#[test]
fn on_a_terminal_of_80_by_24_commands_stand_below_the_live_view_and_work_where_they_say() {
    let ground = Ground::new();
    let mut terminal = Terminal::start_sized(ground.demo(&[]), 80, 24);
    terminal.wait_for("q closes it.");
    terminal.press("\n");
    terminal.wait_for(VIEW_OPENS);
    // The view draws word by word.
    for word in ["terminal:", "weir-demo-", "control.sock", "drain", "web/b", "/data/"] {
        terminal.wait_for(word);
    }
    let mut entries = fs::read_dir(ground.directory.path()).expect("own directory");
    let directory = entries.next().expect("the demo's directory").expect("own directory").path();
    let command = "./weir ctl --socket control.sock drain web/b";
    let drain = Command::new("sh").args(["-c", command]).current_dir(&directory).output().expect("run sh");
    assert!(drain.status.success(), "{drain:?}");
    terminal.press("q");
    terminal.wait_for(VIEW_CLOSES);
    terminal.wait_for("Enter opens the live view again");
    terminal.press("q\n");
    assert_eq!(terminal.process.wait().expect("wait").code(), Some(0));
    ground.assert_nothing_is_left();
}
