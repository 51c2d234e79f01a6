//! Tests of the provider for processes.

use std::cell::Cell;
use std::net::TcpListener;
use std::rc::Rc;
use std::time::Duration;

use weir_fleet::process::{Limits, ProcessProvider, ProcessSettings, Restart};
use weir_fleet::{FailureKind, Machine, MachineId, MachineState, Order, Provider, Steps};
use weir_testkit::{PATIENCE, TempDir, wait_until};

use crate::tools::{run, token};

/// Processes that end with their test, and a clock that only the test moves.
struct Fixture {
    directory: TempDir,
    settings: ProcessSettings,
    clock: Rc<Cell<Duration>>,
    provider: Option<ProcessProvider>,
}

impl Fixture {
    fn new(script: &str) -> Self {
        Self::with(script, |_| {})
    }

    fn with(script: &str, change: impl FnOnce(&mut ProcessSettings)) -> Self {
        let directory = TempDir::new().unwrap();
        let command = ["sh", "-c", script].map(str::to_owned).to_vec();
        let mut settings = ProcessSettings::new(directory.path().to_owned(), command);
        change(&mut settings);
        let clock = Rc::new(Cell::new(Duration::from_secs(1000)));
        let mut fixture = Self { directory, settings, clock, provider: None };
        fixture.reopen();
        fixture
    }

    /// Opens the provider again, as after a kill and a restart.
    fn reopen(&mut self) {
        let clock = Rc::clone(&self.clock);
        let clock = Rc::new(move || clock.get());
        let provider = ProcessProvider::with_clock(self.settings.clone(), Steps::default(), clock);
        self.provider = Some(provider.unwrap());
    }

    fn provider(&self) -> &ProcessProvider {
        self.provider.as_ref().unwrap()
    }

    fn create(&self, name: &str) -> Machine {
        run(self.provider().create(Order { token: &token(name), again: false })).unwrap()
    }

    fn machines(&self) -> Vec<Machine> {
        run(self.provider().machines()).unwrap()
    }

    fn only(&self) -> Machine {
        let machines = self.machines();
        assert_eq!(machines.len(), 1, "{machines:?}");
        machines.into_iter().next().unwrap()
    }

    fn output(&self, name: &str) -> String {
        String::from_utf8(self.provider().output(&id(name), 1 << 20).unwrap()).unwrap()
    }

    /// Runs the maintenance until the only process is in this state.
    fn tend_until(&self, state: MachineState) {
        wait_until(&format!("{state:?}"), PATIENCE, || {
            run(self.provider().tend()).unwrap();
            self.only().state == state
        });
    }

    fn wait_for_output(&self, name: &str, text: &str) {
        wait_until(text, PATIENCE, || self.output(name).contains(text));
    }
}

impl Drop for Fixture {
    fn drop(&mut self) {
        for machine in self.machines() {
            let _ = run(self.provider().delete(&machine.id));
        }
        let mut left = 2000;
        while !self.machines().is_empty() && left > 0 {
            self.clock.set(self.clock.get() + Duration::from_secs(3600));
            let _ = run(self.provider().tend());
            std::thread::sleep(Duration::from_millis(2));
            left -= 1;
        }
    }
}

fn id(name: &str) -> MachineId {
    MachineId(name.to_owned())
}

fn is_alive(pid: &str) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat"));
    stat.is_ok_and(|stat| !stat.rsplit_once(") ").unwrap().1.starts_with('Z'))
}

#[test]
fn a_process_is_told_where_to_listen_and_what_it_is_called() {
    let fixture =
        Fixture::with("echo {address}:{port} $PORT {machine} $COLOUR; exec sleep 600", |settings| {
            settings.environment = vec![("COLOUR".to_owned(), "blue-{machine}".to_owned())];
        });
    let machine = fixture.create("web-1");
    assert_eq!(machine.state, MachineState::Running);
    let (ip, port) = (machine.ip.unwrap(), machine.port.unwrap());
    fixture.wait_for_output("web-1", &format!("{ip}:{port} {port} web-1 blue-web-1\n"));
    assert_eq!(machine.token, Some(token("web-1")));
}

#[test]
fn what_is_in_our_environment_stays_with_us() {
    let fixture = Fixture::new("env; echo done; exec sleep 600");
    // Cargo sets this variable for tests.
    assert!(std::env::var("CARGO_MANIFEST_DIR").is_ok());
    fixture.create("web-1");
    fixture.wait_for_output("web-1", "done");
    assert!(fixture.output("web-1").contains("PATH="));
    assert!(!fixture.output("web-1").contains("CARGO_MANIFEST_DIR"));
}

#[test]
fn one_token_makes_one_process() {
    let fixture = Fixture::new("echo started; exec sleep 600");
    let first = fixture.create("web-1");
    let second = run(fixture.provider().create(Order { token: &token("web-1"), again: true })).unwrap();
    assert_eq!(first, second);
    assert_eq!(fixture.machines().len(), 1);
    fixture.wait_for_output("web-1", "started");
    assert_eq!(fixture.output("web-1"), "started\n");
}

/// Returns a listener on a port that the system does not assign automatically.
fn listener_outside_the_ephemeral_range() -> TcpListener {
    let range = std::fs::read_to_string("/proc/sys/net/ipv4/ip_local_port_range").unwrap();
    let ephemeral = range.split_whitespace().next().unwrap().parse::<u16>().unwrap();
    let mut ports = (1024..ephemeral).rev();
    ports.find_map(|port| TcpListener::bind(("127.0.0.1", port)).ok()).unwrap()
}

#[test]
fn each_process_has_a_port_of_its_own_from_the_range() {
    let taken = listener_outside_the_ephemeral_range();
    let first = taken.local_addr().unwrap().port();
    let fixture = Fixture::with("exec sleep 600", |settings| settings.ports = Some(first..=first));
    let create = |name| run(fixture.provider().create(Order { token: &token(name), again: false }));
    assert_eq!(create("web-1").unwrap_err().kind, FailureKind::Quota);
    drop(taken);
    // A process that another test is starting may hold copies of the descriptors until its exec.
    let mut made = None;
    wait_until("the port is free", PATIENCE, || {
        made = create("web-1").ok();
        made.is_some()
    });
    assert_eq!(made.unwrap().port, Some(first));
    assert_eq!(create("web-2").unwrap_err().kind, FailureKind::Quota);
}

#[test]
fn a_stopped_process_ends_in_peace_and_is_started_again_where_it_was() {
    let script = "trap 'echo bye; exit 0' TERM; echo hello; while :; do sleep 600 & wait; done";
    let fixture = Fixture::new(script);
    let machine = fixture.create("web-1");
    fixture.wait_for_output("web-1", "hello\n");
    run(fixture.provider().stop(&machine.id)).unwrap();
    fixture.tend_until(MachineState::Stopped);
    assert_eq!(fixture.output("web-1"), "hello\nbye\n");

    // Repeated actions succeed.
    run(fixture.provider().stop(&machine.id)).unwrap();
    run(fixture.provider().start(&machine.id)).unwrap();
    run(fixture.provider().start(&machine.id)).unwrap();
    let again = fixture.only();
    assert_eq!((again.state, again.port), (MachineState::Running, machine.port));
    fixture.wait_for_output("web-1", "hello\nbye\nhello\n");
}

#[test]
fn a_process_that_does_not_end_is_killed_at_the_deadline_and_not_before() {
    let script = "trap 'echo no' TERM; echo ready $$; while :; do sleep 600 & wait; done";
    let fixture = Fixture::with(script, |settings| settings.stop_grace = Duration::from_secs(10));
    let machine = fixture.create("web-1");
    fixture.wait_for_output("web-1", "ready ");
    run(fixture.provider().stop(&machine.id)).unwrap();
    fixture.wait_for_output("web-1", "no\n");
    fixture.clock.set(fixture.clock.get() + Duration::from_millis(9999));
    run(fixture.provider().tend()).unwrap();
    let pid = fixture.output("web-1").lines().next().unwrap().replace("ready ", "");
    assert!(is_alive(&pid));
    assert_eq!(fixture.only().state, MachineState::Stopping);
    assert_eq!(run(fixture.provider().start(&machine.id)).unwrap_err().kind, FailureKind::Conflict);
    fixture.clock.set(fixture.clock.get() + Duration::from_millis(1));
    fixture.tend_until(MachineState::Stopped);
    assert!(!is_alive(&pid));
}

#[test]
fn a_deleted_process_leaves_nothing_behind() {
    let fixture = Fixture::new("exec sleep 600");
    let machine = fixture.create("web-1");
    run(fixture.provider().delete(&machine.id)).unwrap();
    wait_until("it is gone", PATIENCE, || {
        run(fixture.provider().tend()).unwrap();
        fixture.machines().is_empty()
    });
    run(fixture.provider().delete(&machine.id)).unwrap();
    for directory in ["machines", "logs"] {
        let left = std::fs::read_dir(fixture.directory.path().join(directory)).unwrap();
        assert_eq!(left.count(), 0, "{directory}");
    }
    assert_eq!(run(fixture.provider().start(&machine.id)).unwrap_err().kind, FailureKind::NotFound);
}

#[test]
fn a_process_that_ends_is_started_again_after_pauses_that_grow() {
    let fixture = Fixture::new("echo run; exit 3");
    fixture.create("web-1");
    for (runs, pause_s) in [(1, 1), (2, 2), (3, 4)] {
        fixture.wait_for_output("web-1", &"run\n".repeat(runs));
        let ended = format!("ended: exit status: 3; restarts in a row: {runs}");
        wait_until(&ended, PATIENCE, || {
            run(fixture.provider().tend()).unwrap();
            fixture.only().note.as_deref() == Some(&ended)
        });
        assert_eq!(fixture.only().state, MachineState::Building);
        fixture.clock.set(fixture.clock.get() + Duration::from_millis(pause_s * 1000 - 1));
        run(fixture.provider().tend()).unwrap();
        assert_eq!(fixture.output("web-1"), "run\n".repeat(runs));
        fixture.clock.set(fixture.clock.get() + Duration::from_millis(1));
        run(fixture.provider().tend()).unwrap();
    }
    fixture.wait_for_output("web-1", &"run\n".repeat(4));
}

#[test]
fn the_policy_says_whether_a_process_is_started_again() {
    let cases = [
        (Restart::Never, "exit 3", MachineState::Failed),
        (Restart::Never, "exit 0", MachineState::Stopped),
        (Restart::OnFailure, "exit 0", MachineState::Stopped),
        (Restart::OnFailure, "exit 3", MachineState::Building),
        (Restart::Always, "exit 0", MachineState::Building),
    ];
    for (restart, script, state) in cases {
        let fixture = Fixture::with(script, |settings| settings.restart = restart);
        fixture.create("web-1");
        wait_until("it has ended", PATIENCE, || {
            run(fixture.provider().tend()).unwrap();
            fixture.only().note.is_some()
        });
        assert_eq!(fixture.only().state, state, "{restart:?}, {script}");
    }
}

#[test]
fn what_a_process_has_started_ends_with_it() {
    let script = "sleep 600 & echo $! first; setsid sleep 600 & echo $! second; exit 1";
    let fixture = Fixture::with(script, |settings| settings.restart = Restart::Never);
    fixture.create("web-1");
    fixture.wait_for_output("web-1", "second");
    fixture.tend_until(MachineState::Failed);
    for line in fixture.output("web-1").lines() {
        let pid = line.split(' ').next().unwrap();
        wait_until("it is gone", PATIENCE, || !is_alive(pid));
    }
}

#[test]
fn limits_hold_before_the_program_begins() {
    let fixture =
        Fixture::with("ulimit -n; ulimit -v; ulimit -t; ulimit -c; echo done; exec sleep 600", |settings| {
            settings.limits = Limits {
                open_files: Some(64),
                memory_bytes: Some(512 << 20),
                cpu_s: Some(77),
                core_bytes: Some(0),
            };
        });
    fixture.create("web-1");
    fixture.wait_for_output("web-1", "done");
    assert_eq!(fixture.output("web-1"), "64\n524288\n77\n0\ndone\n");
}

#[test]
fn the_latest_output_is_kept_and_no_more() {
    let script = "i=0; while [ $i -lt 5000 ]; do echo line $i; i=$((i+1)); done; echo end; exec sleep 600";
    let fixture = Fixture::with(script, |settings| settings.log_bytes_max = 8192);
    fixture.create("web-1");
    fixture.wait_for_output("web-1", "end");
    run(fixture.provider().tend()).unwrap();
    let files = std::fs::read_dir(fixture.directory.path().join("logs")).unwrap();
    let bytes: u64 = files.map(|file| file.unwrap().metadata().unwrap().len()).sum();
    assert!(bytes <= 8192, "{bytes}");
    assert!(fixture.output("web-1").ends_with("line 4999\nend\n"));
}

#[test]
fn a_process_outlives_us_and_is_adopted() {
    let mut fixture = Fixture::new("echo $$; exec sleep 600");
    let before = fixture.create("web-1");
    fixture.wait_for_output("web-1", "\n");
    let pid = fixture.output("web-1");
    fixture.reopen();
    assert_eq!(fixture.only(), before);
    run(fixture.provider().tend()).unwrap();
    assert_eq!(fixture.output("web-1"), pid, "it was not started again");

    // Without the record's identity, the environment identifies the process.
    let record = fixture.directory.path().join("machines/web-1.json");
    let text = std::fs::read_to_string(&record).unwrap();
    let mut value: serde_json::Value = serde_json::from_str(&text).unwrap();
    value["life"]["process"] = serde_json::Value::Null;
    std::fs::write(&record, value.to_string()).unwrap();
    fixture.reopen();
    assert_eq!(fixture.only(), before);
    run(fixture.provider().stop(&before.id)).unwrap();
    fixture.tend_until(MachineState::Stopped);
    assert!(!is_alive(pid.trim()));
}

#[test]
fn what_another_directory_has_started_is_left_alone() {
    let (mut ours, theirs) = (Fixture::new("exec sleep 600"), Fixture::new("echo $$; exec sleep 600"));
    ours.create("web-1");
    theirs.create("web-1");
    theirs.wait_for_output("web-1", "\n");
    // Neither stopping nor adopting confuses the two processes.
    run(ours.provider().stop(&id("web-1"))).unwrap();
    ours.tend_until(MachineState::Stopped);
    ours.reopen();
    assert_eq!(ours.only().state, MachineState::Stopped);
    run(ours.provider().delete(&id("web-1"))).unwrap();
    assert!(is_alive(theirs.output("web-1").trim()));
}

#[test]
fn a_process_that_cannot_be_seen_yet_is_not_started_twice() {
    let mut fixture = Fixture::new("echo run; exec sleep 600");
    let machine = fixture.create("web-1");
    run(fixture.provider().stop(&machine.id)).unwrap();
    fixture.tend_until(MachineState::Stopped);
    let runs = fixture.output("web-1");
    // This is the state after a process was killed while its child was in exec.
    let machines = fixture.directory.path().join("machines");
    let record = machines.join("web-1.json");
    let mut value: serde_json::Value =
        serde_json::from_str(&std::fs::read_to_string(&record).unwrap()).unwrap();
    value["wanted"] = serde_json::json!("running");
    std::fs::write(&record, value.to_string()).unwrap();
    let lock = std::fs::File::open(machines.join("web-1.lock")).unwrap();
    lock.try_lock().unwrap();
    fixture.reopen();
    run(fixture.provider().tend()).unwrap();
    assert_eq!(fixture.only().state, MachineState::Building);
    assert!(fixture.only().note.unwrap().contains("holds its lock"));
    assert_eq!(fixture.output("web-1"), runs);
    drop(lock);
    fixture.clock.set(fixture.clock.get() + Duration::from_secs(1));
    run(fixture.provider().tend()).unwrap();
    assert_eq!(fixture.only().state, MachineState::Running);
}

#[test]
fn a_number_that_another_process_has_by_now_is_not_taken_for_ours() {
    let mut fixture = Fixture::with("echo run; exec sleep 600", |settings| settings.restart = Restart::Never);
    let machine = fixture.create("web-1");
    run(fixture.provider().stop(&machine.id)).unwrap();
    fixture.tend_until(MachineState::Stopped);
    let mut stranger = std::process::Command::new("sleep").arg("600").spawn().unwrap();
    let record = fixture.directory.path().join("machines/web-1.json");
    let mut value: serde_json::Value =
        serde_json::from_str(&std::fs::read_to_string(&record).unwrap()).unwrap();
    value["life"]["process"] = serde_json::json!({ "pid": stranger.id(), "start_ticks": 1 });
    value["wanted"] = serde_json::json!("gone");
    std::fs::write(&record, value.to_string()).unwrap();
    fixture.reopen();
    run(fixture.provider().tend()).unwrap();
    assert_eq!(fixture.machines(), []);
    let alive = stranger.try_wait().unwrap().is_none();
    stranger.kill().unwrap();
    stranger.wait().unwrap();
    assert!(alive);
}

#[test]
fn there_are_no_more_processes_than_may_be() {
    let fixture = Fixture::with("exec sleep 600", |settings| settings.machines_max = Some(1));
    assert_eq!(run(fixture.provider().room()).unwrap(), Some(1));
    fixture.create("web-1");
    assert_eq!(run(fixture.provider().room()).unwrap(), Some(0));
    let refused = run(fixture.provider().create(Order { token: &token("web-2"), again: false }));
    assert_eq!(refused.unwrap_err().kind, FailureKind::Quota);
}

#[test]
fn a_program_that_is_not_there_is_named_and_leaves_no_record() {
    let fixture = Fixture::with("", |settings| settings.command = vec!["no-such-program-here".to_owned()]);
    let failure = run(fixture.provider().verify()).unwrap_err();
    assert_eq!(failure.message, "no-such-program-here: no such program");
    let refused = run(fixture.provider().create(Order { token: &token("web-1"), again: false }));
    let failure = refused.unwrap_err();
    assert_eq!(failure.kind, FailureKind::Permanent);
    assert!(failure.message.starts_with("no-such-program-here: "), "{failure}");
    assert_eq!(fixture.machines(), []);
}
