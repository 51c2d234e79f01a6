//! The fleets of the config. Each one has its own thread, so that its calls to clouds and disks block nothing
//! else.
//!
//! A fleet's thread measures the pool, decides (`weir_scale`) and acts (`weir_fleet`). It changes the proxy
//! with the same commands as an operator.

mod balance;
mod chronicle;
mod desk;
mod exchange;
mod heritage;
mod latency;
mod moved;
mod pool;
mod runner;
mod tell;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::task::spawn_blocking;
use tokio::time::timeout;
use weir_config::plan::FleetPlan;
use weir_control::{Answer, Code, Command, FleetSnapshot, Reply};
use weir_fleet::Wish;
use weir_model::Name;
use weir_proxy::control::Controller;
use weir_scale::history::HEADING;

use desk::Desk;
use runner::Runner;

/// Every fleet of the current plan.
pub(super) struct Fleets {
    controller: Arc<Controller>,
    control_plane: Handle,
    /// In config order.
    running: Mutex<Vec<Running>>,
    /// Fleets that the config no longer has. Their plans are needed to delete their machines.
    removed: Mutex<Vec<Running>>,
}

/// A fleet and its thread.
struct Running {
    plan: Arc<FleetPlan>,
    desk: Arc<Desk>,
    /// True if the config no longer has the fleet and the thread deletes its machines.
    retires: bool,
    /// `None` = the thread could not be started.
    thread: Option<JoinHandle<()>>,
}

/// Maximum number of machines in a note.
const NAMED_MAX: usize = 10;

/// A fleet that receives a command.
struct Told {
    plan: Arc<FleetPlan>,
    desk: Arc<Desk>,
}

impl Fleets {
    /// Creates the set without any fleet. Call it on the control plane's runtime.
    pub(super) fn new(controller: Arc<Controller>) -> Self {
        Self {
            controller,
            control_plane: Handle::current(),
            running: Mutex::default(),
            removed: Mutex::default(),
        }
    }

    /// Applies the fleets of a new plan. Unchanged fleets continue undisturbed. The servers of removed fleets
    /// stay as they are. Returns notes about the removed fleets for the operator.
    pub(super) fn follow(&self, plans: &[FleetPlan]) -> Vec<String> {
        let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        let mut removed = self.removed.lock().unwrap_or_else(PoisonError::into_inner);
        let mut before = std::mem::take(&mut *running);
        for plan in plans {
            let same = before.iter().position(|there| there.plan.name == plan.name);
            let same = same.map(|at| before.remove(at));
            let was_removed = removed.iter().position(|there| there.plan.name == plan.name);
            let was_removed = was_removed.map(|at| removed.remove(at));
            running.push(match same {
                Some(there) if *there.plan == *plan => there,
                there => self.start(plan.clone(), there.or(was_removed), false),
            });
        }
        let notes = before.iter().map(left_alone).collect();
        for gone in before {
            gone.desk.end();
            removed.push(gone);
        }
        notes
    }

    /// Returns notes about servers in pools whose fleet the config does not have, as after its removal and a
    /// restart.
    pub(super) fn strays(&self) -> Vec<String> {
        let running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        let is_known = |name: &str| running.iter().any(|fleet| fleet.plan.name.as_str() == name);
        let mut strays: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for pool in self.controller.snapshot().pools {
            for server in pool.servers {
                if let Some(fleet) = server.fleet.filter(|fleet| !is_known(fleet)) {
                    let named = format!("{}/{} ({})", pool.name, server.name, server.address);
                    strays.entry(fleet).or_default().push(named);
                }
            }
        }
        let note = |(fleet, servers): (String, Vec<String>)| {
            format!(
                "fleet {fleet} is not in the config, and its servers run on: {}. {}",
                named(&servers),
                how_to_end(&fleet)
            )
        };
        strays.into_iter().map(note).collect()
    }

    /// Requests the end of all fleets, without waiting. Unfinished actions are in the journals.
    pub(super) fn end(&self) {
        let running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        running.iter().for_each(|fleet| fleet.desk.end());
    }

    /// Waits for the end of the stopped fleets whose lease is in a store, at most `most`. They release their
    /// leases, so that other machines need not wait until these expire.
    pub(super) async fn gone(&self, most: Duration) {
        let threads: Vec<JoinHandle<()>> = {
            let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
            let in_stores = running.iter_mut().filter(|fleet| fleet.plan.lease.store().is_some());
            in_stores.filter_map(|fleet| fleet.thread.take()).collect()
        };
        if threads.is_empty() {
            return;
        }
        // A thread that panicked has already printed the reason.
        let join = move || threads.into_iter().for_each(|thread| drop(thread.join()));
        let _ = timeout(most, spawn_blocking(join)).await;
    }

    /// Returns the state of all fleets.
    pub(super) fn snapshot(&self) -> Vec<FleetSnapshot> {
        let running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        let snapshot = |fleet: &Running| {
            let mut snapshot = fleet.desk.snapshot();
            if fleet.thread.as_ref().is_none_or(JoinHandle::is_finished) {
                snapshot.leads = false;
                snapshot.troubles.push("its thread has ended: a reload with a change begins anew".to_owned());
            }
            snapshot
        };
        let removed = self.removed.lock().unwrap_or_else(PoisonError::into_inner);
        let retiring = removed.iter().filter(|fleet| fleet.retires && fleet.is_alive());
        running.iter().chain(retiring).map(snapshot).collect()
    }

    /// Executes a command about a fleet. Blocks on disk I/O, without any lock that others need.
    pub(super) fn obey(&self, command: &Command) -> Reply {
        let wish = |fleet: &Told, change: &dyn Fn(&mut Wish)| match fleet.desk.wish(change) {
            Ok((changed, note)) => Reply::Ok(Answer::Done { changed, notes: Vec::from_iter(note) }),
            Err(why) => Reply::error(Code::Internal, format!("fleet {}: {why}", fleet.plan.name)),
        };
        match command {
            Command::FleetScale { fleet, servers: Some(0) } if self.retire(fleet) => {
                Reply::Ok(Answer::Done { changed: true, notes: Vec::new() })
            }
            Command::FleetScale { fleet, servers } => self.with(fleet, |fleet| {
                let bounds = fleet.plan.rules.bounds;
                let is_beyond = |wanted: &u32| *wanted > 0 && !(bounds.min..=bounds.max).contains(wanted);
                if let Some(wanted) = servers.filter(is_beyond) {
                    let message = format!(
                        "fleet {}: {wanted} servers are outside of its bounds, {} to {}, or 0 for none",
                        fleet.plan.name, bounds.min, bounds.max
                    );
                    return Reply::error(Code::BadCommand, message);
                }
                wish(fleet, &|wish| wish.servers = *servers)
            }),
            Command::FleetPause { fleet, paused } => {
                self.with(fleet, |fleet| wish(fleet, &|wish| wish.paused = Some(*paused)))
            }
            Command::FleetHistory { fleet, rows } => self.with(fleet, |fleet| {
                let rows = fleet.desk.history(*rows as usize);
                let lines = std::iter::once(HEADING.to_owned()).chain(rows.iter().map(ToString::to_string));
                Reply::Ok(Answer::FleetHistory { rows: lines.collect() })
            }),
            _ => Reply::error(Code::Internal, "this is no command for fleets"),
        }
    }

    fn with(&self, name: &Name, act: impl FnOnce(&Told) -> Reply) -> Reply {
        let running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        let found = running.iter().find(|fleet| fleet.plan.name == *name);
        let told = found.map(|fleet| Told { plan: Arc::clone(&fleet.plan), desk: Arc::clone(&fleet.desk) });
        drop(running);
        match told {
            Some(told) => act(&told),
            None if self.was_removed(name) => {
                let message =
                    format!("fleet {name} is not in the config any more. {}", how_to_end(name.as_str()));
                Reply::error(Code::NotFound, message)
            }
            None => Reply::error(Code::NotFound, format!("there is no fleet {name}")),
        }
    }

    fn was_removed(&self, name: &Name) -> bool {
        let removed = self.removed.lock().unwrap_or_else(PoisonError::into_inner);
        removed.iter().any(|fleet| fleet.plan.name == *name)
    }

    /// Drains and deletes the machines of a fleet that the config no longer has. Returns false if there is no
    /// such fleet.
    fn retire(&self, name: &Name) -> bool {
        let mut removed = self.removed.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(at) = removed.iter().position(|fleet| fleet.plan.name == *name) else { return false };
        let there = removed.remove(at);
        let retiring = match there.retires && there.is_alive() {
            true => there,
            false => self.start((*there.plan).clone(), Some(there), true),
        };
        removed.push(retiring);
        true
    }

    /// Starts a thread for a fleet. The previous thread, if there is one, ends first.
    fn start(&self, plan: FleetPlan, before: Option<Running>, retires: bool) -> Running {
        let desk = Arc::new(Desk::new(&plan));
        let left = before.as_ref().map(|before| before.plan.balancer.clone());
        let before = before.and_then(|before| {
            before.desk.end();
            before.thread
        });
        let runner = Runner {
            plan: plan.clone(),
            left: left.filter(|left| !left.is_same(&plan.balancer)),
            desk: Arc::clone(&desk),
            controller: Arc::clone(&self.controller),
            control_plane: self.control_plane.clone(),
            retires,
        };
        let run = move || {
            // Two threads of the same fleet would conflict. A thread that panicked has already printed the
            // reason.
            let _ = before.map(JoinHandle::join);
            runner.run();
        };
        let thread = std::thread::Builder::new().name(format!("fleet {}", plan.name)).spawn(run);
        if let Err(error) = &thread {
            eprintln!("weir: fleet {}: no thread: {error}", plan.name);
        }
        Running { plan: Arc::new(plan), desk, retires, thread: thread.ok() }
    }
}

impl Running {
    fn is_alive(&self) -> bool {
        self.thread.as_ref().is_some_and(|thread| !thread.is_finished())
    }
}

/// Returns a note about a fleet that the config no longer has.
fn left_alone(gone: &Running) -> String {
    let snapshot = gone.desk.snapshot();
    let name = &snapshot.name;
    let servers: Vec<String> =
        snapshot.servers.iter().map(|server| format!("{} ({})", server.name, server.state)).collect();
    match (snapshot.leads, servers.is_empty()) {
        (true, true) => format!("fleet {name} is not in the config any more; it had no servers"),
        (true, false) => format!(
            "fleet {name} is not in the config any more: its servers stay as they are, and Weir no longer looks after them: {}. {}",
            named(&servers),
            how_to_end(name)
        ),
        (false, _) => format!(
            "fleet {name} is not in the config any more: its servers stay as they are; it was not led from here. {}",
            how_to_end(name)
        ),
    }
}

fn named(servers: &[String]) -> String {
    let shown = servers.iter().take(NAMED_MAX).map(String::as_str).collect::<Vec<_>>().join(", ");
    match servers.len().saturating_sub(NAMED_MAX) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}

fn how_to_end(fleet: &str) -> String {
    format!(
        "`weir fleet scale 0 {fleet}` drains them and deletes their machines: as long as the process runs that had the fleet, or with the \
         fleet in the config again"
    )
}
