//! The life of the process: start, signals and reloads, stop.

use std::fs;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::mpsc;
use tokio::task::{LocalSet, spawn_blocking};
use tokio::time::{sleep, timeout};
use weir_config::Plan;
use weir_config::diff::Change;
use weir_config::plan::AccessLogPlan;
use weir_gateway::{Gateway, Node};
use weir_proxy::Workers;
use weir_proxy::access_log::{AccessLog, AccessLogError};
use weir_proxy::control::{Controller, EventLog, Setup};

use super::fleets::Fleets;
use super::handler::{ProcessHandler, ReloadRequest};
use super::privileges::{self, Successor};
use super::sandbox::Sandbox;
use super::sockets::Sockets;
use super::state_file::StateFile;
use super::{LoadError, faces, limits};

/// Maximum wait of a reload for the disk. After that, the reload fails and the running config stays in force.
const DISK_PATIENCE: Duration = Duration::from_secs(10);
/// Maximum number of changes that a reload prints one by one.
const CHANGES_TOLD_MAX: usize = 20;
/// Time before the end of the drain at which clients of unfinished transfers are notified.
const LAST_WORDS: Duration = Duration::from_secs(2);
/// Maximum wait at the end for blocking threads.
const LAST_WAIT: Duration = Duration::from_secs(2);

/// The running parts of the process.
struct Process {
    config: PathBuf,
    plan: Plan,
    controller: Arc<Controller>,
    workers: Workers,
    sockets: Sockets,
    access_log: Option<AccessLog>,
    gateway: Arc<Gateway>,
    fleets: Arc<Fleets>,
    sandbox: Sandbox,
}

/// Runs `plan`, which was loaded from `config`, until a signal ends it.
pub(super) fn run(config: &Path, plan: Plan) -> Result<(), String> {
    if !plan.process.core_dumps {
        privileges::forbid_core_dumps();
    }
    let mut successor = Successor::find(&plan)?;
    // Must run before other threads exist.
    if let Some(successor) = &mut successor {
        successor.make_directories(&plan)?;
        successor.open_log(&plan)?;
        successor.enter_namespace(&plan)?;
    }
    let sandbox = plan.process.sandbox.then(|| Sandbox::enter(&plan)).transpose()?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| format!("event loop: {error}"))?;
    let ended = LocalSet::new()
        .block_on(&runtime, live(config.to_owned(), plan, sandbox.unwrap_or_default(), successor));
    // A blocking thread may wait for a disk forever.
    runtime.shutdown_timeout(LAST_WAIT);
    ended
}

async fn live(
    config: PathBuf,
    plan: Plan,
    sandbox: Sandbox,
    mut successor: Option<Successor>,
) -> Result<(), String> {
    // Must come first: an early signal must not kill the process.
    let mut signals = Signals::install().map_err(|error| format!("signals: {error}"))?;
    let descriptors = limits::raise_descriptor_limit();
    let access_log = match (&plan.access_log, successor.as_mut().and_then(Successor::take_log)) {
        (Some(log), Some(file)) => Some(AccessLog::start_in(log, file).map_err(access_log_failed)?),
        (log, _) => start_access_log(log.as_ref())?,
    };
    let workers = worker_count(&plan);
    let gateway = Arc::new(Gateway::new(node(plan.process.node.as_deref())));
    // Areas create files. If the process changes its user, these files must belong to the new user.
    if successor.is_none() {
        gateway.publish(gateway.prepare(&plan).map_err(|error| error.to_string())?);
    }
    let setup = Setup {
        workers,
        connections_max: plan
            .process
            .connections_max
            .unwrap_or_else(|| limits::connections_allowed(descriptors)),
        descriptors_max: descriptors,
        access_log: access_log.as_ref().map(AccessLog::port),
        service: Some(Arc::clone(&gateway) as _),
        log: EventLog::stderr(),
    };
    let StateFile { state, notes, lock: _state_lock } =
        StateFile::open(plan.process.state.as_deref(), &config)?;
    notes.iter().for_each(|note| eprintln!("weir: {note}"));
    let (controller, shared) =
        Controller::start(plan.clone(), state, setup).map_err(|error| error.to_string())?;
    controller.spawn_tasks();
    controller.names_resolved().await;
    let binder = successor.as_ref().and_then(Successor::binder);
    let workers =
        Workers::start(workers, &shared, binder).map_err(|error| format!("worker threads: {error}"))?;
    let sockets = Sockets::default();
    let opened = sockets.open_missing(&workers, &plan)?;
    let (reload, reloads) = mpsc::channel(16);
    let fleets = Arc::new(Fleets::new(Arc::clone(&controller)));
    let handler = Arc::new(ProcessHandler {
        controller: Arc::clone(&controller),
        gateway: Arc::clone(&gateway),
        fleets: Arc::clone(&fleets),
        reload,
    });
    faces::serve(&plan, &handler)?;
    if let Some(successor) = successor {
        successor.take_over(&plan)?;
        gateway.publish(gateway.prepare(&plan).map_err(|error| error.to_string())?);
    }
    fleets.follow(&plan.fleets);
    fleets.strays().iter().for_each(|note| eprintln!("weir: {note}"));
    let mut process =
        Process { config, plan, controller, workers, sockets, access_log, gateway, fleets, sandbox };
    process.sockets.accept(&process.workers, opened);
    eprintln!("weir {} is ready: {} workers", env!("CARGO_PKG_VERSION"), shared.threads - 1);
    process.obey(&mut signals, reloads).await;
    process.stop(&mut signals).await;
    Ok(())
}

impl Process {
    /// Handles signals and reload requests until a signal stops the process.
    async fn obey(&mut self, signals: &mut Signals, mut reloads: mpsc::Receiver<ReloadRequest>) {
        loop {
            tokio::select! {
                _ = signals.terminate.recv() => return,
                _ = signals.interrupt.recv() => return,
                _ = signals.hang_up.recv() => {
                    // The error was printed; the running config stays in force.
                    let _ = self.reload().await;
                }
                _ = signals.user1.recv() => {
                    if let Some(log) = &self.access_log {
                        log.reopen();
                    }
                }
                Some(answer) = reloads.recv() => {
                    let outcome = self.reload().await;
                    // The requester may have disconnected.
                    let _ = answer.send(outcome);
                }
            }
        }
    }

    /// Reloads the config. Prints the problems of an invalid config and changes nothing.
    async fn reload(&mut self) -> Result<Vec<String>, String> {
        match self.try_reload().await {
            Ok(notes) => {
                notes.iter().for_each(|note| eprintln!("weir: reload: {note}"));
                eprintln!("weir: reloaded {}", self.config.display());
                Ok(notes)
            }
            Err(error) => {
                eprintln!("weir: the config was not reloaded, nothing has changed:\n{error}");
                self.controller.reload_failed(&error);
                Err(error)
            }
        }
    }

    async fn try_reload(&mut self) -> Result<Vec<String>, String> {
        let config = self.config.clone();
        let loaded = patiently("the files that the config names", move || super::load_again(&config)).await?;
        let plan = loaded.map_err(|error| match error {
            LoadError::Unreadable(error) | LoadError::Wrong(error) => error,
        })?;
        self.sandbox.permits(&plan)?;
        let new_log =
            (plan.access_log != self.plan.access_log).then(|| start_access_log(plan.access_log.as_ref()));
        let new_log = new_log.transpose()?;
        let (gateway, wanted) = (Arc::clone(&self.gateway), plan.clone());
        let areas = patiently("the roots of storage areas", move || gateway.prepare(&wanted)).await?;
        let areas = areas.map_err(|error| error.to_string())?;
        let prepared = self.controller.prepare_reload(plan).await.map_err(|error| error.to_string())?;
        let opened = self.sockets.open_missing(&self.workers, prepared.plan())?;
        self.plan = prepared.plan().clone();
        let old_log = new_log.map(|new| std::mem::replace(&mut self.access_log, new));
        let port = self.access_log.as_ref().map(AccessLog::port);
        self.gateway.publish(areas);
        let outcome = self.controller.commit(prepared, port);
        self.gateway.retire(&self.plan);
        let left_alone = self.fleets.follow(&self.plan.fleets);
        self.sockets.follow(&self.workers, &self.plan, opened);
        // Workers switch to the new log when they next read the plan. The old log still writes the entries
        // that they send until then.
        drop(old_log);
        tell_changes(&outcome.changes);
        Ok(outcome.notes.into_iter().chain(left_alone).collect())
    }

    /// Drains and stops. A second signal stops at once.
    async fn stop(self, signals: &mut Signals) {
        eprintln!("weir: stopping: requests may take up to {} to end", self.plan.process.drain_timeout);
        self.fleets.end();
        self.controller.begin_stop();
        drop(self.sockets);
        let timeout = self.plan.process.drain_timeout.duration();
        let last_words = async {
            sleep(timeout.saturating_sub(LAST_WORDS.min(timeout / 5))).await;
            self.gateway.end_transfers();
            std::future::pending::<()>().await;
        };
        tokio::select! {
            () = self.workers.drain(timeout) => {}
            () = last_words => {}
            _ = signals.terminate.recv() => eprintln!("weir: a second signal: what is left is cut"),
            _ = signals.interrupt.recv() => eprintln!("weir: a second signal: what is left is cut"),
        }
        self.fleets.gone(LAST_WAIT).await;
        if let Some(log) = self.access_log {
            log.finish(Duration::from_secs(2));
        }
        eprintln!("weir: stopped");
    }
}

/// Prints the changes of a reload, at most [`CHANGES_TOLD_MAX`] of them.
fn tell_changes(changes: &[Change]) {
    for change in changes.iter().take(CHANGES_TOLD_MAX) {
        eprintln!("weir: reload: {change}");
    }
    match changes.len().saturating_sub(CHANGES_TOLD_MAX) {
        0 => {}
        more => eprintln!("weir: reload: and {more} more changes"),
    }
}

struct Signals {
    terminate: Signal,
    interrupt: Signal,
    hang_up: Signal,
    user1: Signal,
}

impl Signals {
    fn install() -> io::Result<Self> {
        Ok(Self {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
            hang_up: signal(SignalKind::hangup())?,
            user1: signal(SignalKind::user_defined1())?,
        })
    }
}

/// Runs a job that may wait for a disk on its own thread. A mount that hangs blocks only that thread.
async fn patiently<T: Send + 'static>(
    what: &str,
    job: impl FnOnce() -> T + Send + 'static,
) -> Result<T, String> {
    match timeout(DISK_PATIENCE, spawn_blocking(job)).await {
        Ok(done) => done.map_err(|error| error.to_string()),
        Err(_) => Err(format!("{what}: the disk has not answered for {} s", DISK_PATIENCE.as_secs())),
    }
}

/// Identifies this process among those that share a file system.
fn node(name: Option<&str>) -> Node {
    let of_host = || fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let name = name.map_or_else(of_host, str::to_owned);
    // The keys of a hasher are the standard library's source of random bits.
    let boot = RandomState::new().build_hasher().finish();
    Node { name: name.trim().to_owned(), boot }
}

fn worker_count(plan: &Plan) -> usize {
    let cores = || thread::available_parallelism().map_or(1, usize::from);
    plan.process.workers.map_or_else(cores, usize::from).max(1)
}

fn start_access_log(plan: Option<&AccessLogPlan>) -> Result<Option<AccessLog>, String> {
    plan.map(AccessLog::start).transpose().map_err(access_log_failed)
}

fn access_log_failed(cause: AccessLogError) -> String {
    format!("access log: {cause}")
}
