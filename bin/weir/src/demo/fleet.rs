//! Runs the demo's fleet: web servers that the balancer starts and stops itself, as many as their load needs.
//!
//! They outlive a balancer on purpose. So each of them watches the demo and ends with it. A demo that ends in
//! order ends them first.

use std::ffi::OsString;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::process::ExitCode;
use std::thread;
use std::time::Duration;

use clap::Parser;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::{Pid, PidfdFlags, pidfd_open};
use tokio::time::{Instant, sleep, timeout};
use weir_config::Source;
use weir_config::plan::FleetPlan;
use weir_control::FleetSnapshot;

use super::config::quoted;
use super::facts::Files;
use super::stage::Stage;
use super::traffic::{Pace, Traffic};
use super::watch;
use crate::origin::{self, OriginArgs};

/// Name of the fleet and of its pool.
pub(super) const NAME: &str = "app";

/// Minimum and maximum number of servers.
const SERVERS: (u32, u32) = (1, 4);

/// Configured requests per second of a server. It could handle more.
const CAPACITY_PER_S: u32 = 20;

/// Requests per second that need all servers.
const RUSH_PER_S: u32 = 70;

/// Requests per second that one server can handle.
const LULL_PER_S: u32 = 10;

/// Duration in seconds of each rush and each lull in the live demo.
const TURN_S: u32 = 20;

/// Time limit for an expected event on a machine under heavy load.
const PATIENCE: Duration = Duration::from_secs(30);

/// A server with its arguments, as a command line of its own.
#[derive(Debug, Parser)]
struct Command {
    #[command(flatten)]
    origin: OriginArgs,
}

/// Returns the fleet's part of the config.
///
/// # Errors
/// If a path is not UTF-8.
pub(super) fn config(files: &Files) -> Result<String, String> {
    let program = std::env::current_exe().map_err(|error| format!("own path: {error}"))?;
    let (program, directory) = (quoted(&program)?, quoted(&files.fleet)?);
    let (owner, (min, max)) = (std::process::id(), SERVERS);
    Ok(format!(
        r#"[pool.{NAME}]
check = {{ http = "GET /health", interval = "200ms", rise = 1, fall = 2 }}

# Servers that come and go with their load. It is hastier than it should be anywhere else, so that there is something to see.
[fleet.{NAME}]
pool = "{NAME}"
min = {min}
max = {max}
capacity = {CAPACITY_PER_S}
standby = 0
interval = "200ms"
start-up = "1s"
policy = {{ kind = "target", up-after = "300ms", down-after = "700ms", step-up = false, step-down = false, damping = false }}
directory = {directory}

# Each of them ends with the demo.
[fleet.{NAME}.process]
command = [{program}, "demo", "--while-lives", "{owner}", "--", "origin", "--bind", "{{address}}:{{port}}", "--name", "{{machine}}", "--service-ms", "20", "--concurrency", "8", "--grace", "1"]
stop-grace = "3s"
"#
    ))
}

/// Runs one of the fleet's servers, which ends with the process `owner`.
pub(super) fn serve(owner: i32, arguments: &[OsString]) -> ExitCode {
    match watched(owner).and_then(|owner| follow(owner).map_err(|error| error.to_string())) {
        Ok(()) => match Command::try_parse_from(arguments) {
            Ok(command) => origin::run(&command.origin),
            Err(error) => {
                super::complain(&error.to_string());
                ExitCode::from(2)
            }
        },
        Err(error) => {
            super::complain(&format!("process {owner}: {error}"));
            ExitCode::from(2)
        }
    }
}

fn watched(owner: i32) -> Result<OwnedFd, String> {
    let owner = Pid::from_raw(owner).ok_or("is none")?;
    pidfd_open(owner, PidfdFlags::empty()).map_err(|error| error.to_string())
}

/// Ends this process when `owner` has ended for any reason.
fn follow(owner: OwnedFd) -> std::io::Result<()> {
    let wait = move || {
        // A pidfd becomes readable when its process ends (pidfd_open(2)).
        while poll(&mut [PollFd::new(&owner, PollFlags::IN)], None) == Err(rustix::io::Errno::INTR) {}
        std::process::exit(0);
    };
    thread::Builder::new().name("leash".to_owned()).spawn(wait).map(drop)
}

/// Starts traffic whose rate rises and falls.
pub(super) fn waves(stage: &Stage) -> Traffic {
    Traffic::start(
        stage.facts().balancer.app,
        Pace::Turns { first: RUSH_PER_S, then: LULL_PER_S, seconds: TURN_S },
    )
}

/// Shows that the fleet grows under load and shrinks without it. Returns a message about success or failure,
/// and the traffic, which has ended.
pub(super) async fn prove(stage: &mut Stage) -> Result<(Result<String, String>, Traffic), String> {
    let (min, max) = SERVERS;
    let mut rush = Traffic::start(stage.facts().balancer.app, Pace::Steady(RUSH_PER_S));
    let risen = reached(stage, |fleet| fleet.active >= max).await?;
    rush.finish().await;
    let over = Instant::now();
    let fallen = reached(stage, |fleet| fleet.servers_total <= min).await?;
    let said = match (risen, fallen) {
        (true, true) => Ok(format!(
            "fleet {NAME} rose from {min} to {max} servers in {:.1} s under {RUSH_PER_S} requests/s, and fell back in {:.1} s: {}",
            rush.elapsed().as_secs_f64(),
            over.elapsed().as_secs_f64(),
            rush.tally().describe()
        )),
        (false, _) => {
            Err(format!("fleet {NAME} has not risen to {max} servers within {} s", PATIENCE.as_secs()))
        }
        (true, false) => {
            Err(format!("fleet {NAME} has not fallen to {min} servers within {} s", PATIENCE.as_secs()))
        }
    };
    Ok((said, rush))
}

/// Waits until a server of the fleet takes requests.
pub(super) async fn ready(control: &Path) -> Result<(), String> {
    let first = async {
        while watch::fleet(control).await?.active < SERVERS.0 {
            sleep(Duration::from_millis(50)).await;
        }
        Ok(())
    };
    let late = |_| Err(format!("fleet {NAME} has no server after {} s", PATIENCE.as_secs()));
    timeout(PATIENCE, first).await.unwrap_or_else(late)
}

/// Describes the state of the fleet and the results of its clients.
pub(super) fn so_far(fleet: &FleetSnapshot, traffic: &Traffic) -> String {
    format!(
        "fleet {NAME}: {} of {} to {} servers, {} needed ({}); {}",
        fleet.active,
        fleet.min,
        fleet.max,
        fleet.wanted,
        fleet.reason,
        traffic.tally().describe()
    )
}

async fn reached(stage: &mut Stage, condition: impl Fn(&FleetSnapshot) -> bool) -> Result<bool, String> {
    let deadline = Instant::now() + PATIENCE;
    while Instant::now() < deadline {
        stage.look()?;
        if condition(&watch::fleet(&stage.facts().files.control).await?) {
            return Ok(true);
        }
        sleep(Duration::from_millis(50)).await;
    }
    Ok(false)
}

/// Ends the fleet's servers. The balancer must have ended.
pub(super) async fn end(config: &Path) {
    const PATIENCE: Duration = Duration::from_secs(6);
    let Some(plan) = plan(config) else { return };
    let Ok(provider) = weir_fleet::open(&plan) else { return };
    let gone = async {
        loop {
            match provider.machines().await {
                Ok(machines) if machines.is_empty() => return,
                Ok(machines) => {
                    for machine in machines {
                        // Fails for a machine that is being deleted already.
                        let _ = provider.delete(&machine.id).await;
                    }
                }
                Err(_) => return,
            }
            let _ = provider.tend().await;
            sleep(Duration::from_millis(20)).await;
        }
    };
    // Servers that are left end with the demo.
    let _ = timeout(PATIENCE, gone).await;
}

/// Reads the fleet's plan from the current config, which the user may have changed.
fn plan(config: &Path) -> Option<FleetPlan> {
    let text = std::fs::read_to_string(config).ok()?;
    let source = Source { name: config.display().to_string(), text };
    let loaded = weir_config::load(&[source], &|_| None).ok()?;
    loaded.plan.fleets.into_iter().find(|fleet| fleet.name.as_str() == NAME)
}
