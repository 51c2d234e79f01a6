//! Crash tests: a driver that scales a fleet of processes is killed after each of its steps. The next driver
//! must still reach the intended size, without duplicate or lost processes.

use std::cell::Cell;
use std::collections::BTreeSet;
use std::path::Path;
use std::process::{Command, ExitStatus};
use std::time::Duration;

use rustix::process::{Pid, Signal, getpid, kill_process};
use weir_fleet::process::{MACHINE_VARIABLE, ProcessProvider, ProcessSettings};
use weir_fleet::{Actuator, Lease, MachineState, Steps};
use weir_testkit::TempDir;

use crate::tools::run;

/// Variable that marks the processes of a test, independently of the fleet.
const MARK: &str = "WEIR_FLEET_TEST";

const DIRECTORY: &str = "WEIR_FLEET_TEST_DIRECTORY";
const WANTED: &str = "WEIR_FLEET_TEST_WANTED";
const DIE_AT: &str = "WEIR_FLEET_TEST_DIE_AT";

/// Runs as a separate process that the other tests start and kill.
#[test]
#[ignore = "a program for the other tests of this module"]
fn driver() {
    let variable = |name: &str| std::env::var(name).unwrap_or_else(|_| panic!("{name} is not set"));
    let (directory, wanted) = (variable(DIRECTORY), variable(WANTED).parse().unwrap());
    let die_at: u32 = variable(DIE_AT).parse().unwrap();
    let taken = Cell::new(0);
    let steps = Steps::observed(move |_| {
        taken.set(taken.get() + 1);
        if taken.get() == die_at {
            kill_process(getpid(), Signal::KILL).unwrap();
        }
    });
    run(drive(Path::new(&directory), wanted, steps));
}

async fn drive(directory: &Path, wanted: usize, steps: Steps) {
    let lease = Lease::acquire(&directory.join("lease")).unwrap();
    let command = ["sleep", "600"].map(str::to_owned).to_vec();
    let mut settings = ProcessSettings::new(directory.to_owned(), command);
    settings.environment = vec![(MARK.to_owned(), directory.display().to_string())];
    let provider = ProcessProvider::open(settings, steps.clone()).unwrap();
    let actuator = Actuator::open("web", directory, lease, Box::new(provider), steps).unwrap();
    let end = tokio::time::Instant::now() + weir_testkit::PATIENCE;
    loop {
        assert!(tokio::time::Instant::now() < end, "the fleet does not come to its size");
        actuator.settle().await.unwrap();
        actuator.tend().await.unwrap();
        let machines = actuator.machines().await.unwrap();
        let ids = |states: &[MachineState]| -> Vec<_> {
            let of = machines.iter().filter(|machine| states.contains(&machine.state));
            of.map(|machine| machine.id.clone()).collect()
        };
        let serving = ids(&[MachineState::Running, MachineState::Building]);
        let stopped = ids(&[MachineState::Stopped]);
        let results = if serving.len() < wanted {
            // Starts stopped machines first and creates the rest, like the published autoscaler.
            let woken = stopped.len().min(wanted - serving.len());
            let mut results = actuator.start(&stopped[..woken]).await;
            let made = actuator.create(wanted - serving.len() - woken).await;
            results.extend(made.into_iter().map(|made| made.map(drop)));
            results
        } else if serving.len() > wanted {
            actuator.stop(&serving[wanted..]).await
        } else if stopped.len() > 1 {
            actuator.delete(&stopped[1..]).await
        } else if machines.len() == serving.len() + stopped.len() {
            return;
        } else {
            tokio::time::sleep(Duration::from_millis(5)).await;
            Vec::new()
        };
        for result in results {
            result.unwrap();
        }
    }
}

fn start_driver(directory: &Path, wanted: usize, die_at: u32) -> ExitStatus {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args(["--exact", "crash::driver", "--ignored", "--nocapture"])
        .env(DIRECTORY, directory)
        .env(WANTED, wanted.to_string())
        .env(DIE_AT, die_at.to_string());
    let output = command.output().unwrap();
    if output.status.code().is_some_and(|code| code != 0) {
        panic!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    }
    output.status
}

/// Returns the live processes of this directory with their machine names.
fn alive(directory: &Path) -> Vec<(Pid, String)> {
    let mark = format!("{MARK}={}", directory.display());
    let prefix = format!("{MACHINE_VARIABLE}=");
    let mut found = Vec::new();
    for entry in std::fs::read_dir("/proc").unwrap().flatten() {
        let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse().ok()) else { continue };
        // A zombie has an empty environment.
        let Ok(environment) = std::fs::read(entry.path().join("environ")) else { continue };
        let variables: Vec<_> = environment.split(|&byte| byte == 0).map(String::from_utf8_lossy).collect();
        if variables.iter().any(|pair| *pair == mark) {
            let name = variables.iter().find_map(|pair| pair.strip_prefix(&prefix)).unwrap_or("nobody");
            found.push((Pid::from_raw(pid).unwrap(), name.to_owned()));
        }
    }
    found
}

/// Kills the processes of a test at its end.
struct Processes<'a>(&'a Path);

impl Drop for Processes<'_> {
    fn drop(&mut self) {
        for (pid, _) in alive(self.0) {
            let _ = kill_process(pid, Signal::KILL);
        }
    }
}

fn prove(directory: &Path, wanted: usize, when: &str) {
    let alive = alive(directory);
    let names: BTreeSet<_> = alive.iter().map(|(_, name)| name).collect();
    assert_eq!((alive.len(), names.len()), (wanted, wanted), "{when}: {alive:?}");
}

/// Scales from `before` to `after` processes. Kills the driver at each step, and its successor soon after its
/// start.
fn survives_being_killed(before: usize, after: usize) {
    let mut killed = 0;
    for die_at in 1.. {
        let directory = TempDir::new().unwrap();
        let path = directory.path();
        let _processes = Processes(path);
        start_driver(path, before, 0);
        prove(path, before, "before");
        let died = !start_driver(path, after, die_at).success();
        if died {
            killed += 1;
            start_driver(path, after, 1 + die_at % 3);
            start_driver(path, after, 0);
        }
        prove(path, after, &format!("killed at step {die_at}"));
        if !died {
            break;
        }
    }
    assert!(killed >= 8, "there are more steps than {killed}");
}

#[test]
fn a_fleet_that_grows_survives_being_killed_at_every_step() {
    survives_being_killed(0, 3);
}

#[test]
fn a_fleet_that_shrinks_survives_being_killed_at_every_step() {
    survives_being_killed(4, 1);
}

#[test]
fn a_fleet_that_wakes_what_is_stopped_survives_being_killed_at_every_step() {
    let mut killed = 0;
    for die_at in 1.. {
        let directory = TempDir::new().unwrap();
        let path = directory.path();
        let _processes = Processes(path);
        start_driver(path, 2, 0);
        start_driver(path, 1, 0);
        let died = !start_driver(path, 2, die_at).success();
        if died {
            killed += 1;
            start_driver(path, 2, 0);
        }
        prove(path, 2, &format!("killed at step {die_at}"));
        let files = std::fs::read_dir(path.join("machines")).unwrap().flatten();
        let records = files.filter(|file| file.file_name().to_string_lossy().ends_with(".json")).count();
        assert_eq!(records, 2, "the stopped one was to be woken, killed at step {die_at}");
        if !died {
            break;
        }
    }
    assert!(killed >= 4, "there are more steps than {killed}");
}
