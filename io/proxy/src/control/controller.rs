//! The controller: the shared state of the control plane and its tasks.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::sync::{Notify, Semaphore};
use tokio::time::Instant;
use weir_config::Plan;
use weir_control::RuntimeState;

use super::ejection::keep_judging;
use super::expressions::keep_reporting;
use super::memory::keep_watching_memory;
use super::parts::{Before, Parts};
use super::process_facts;
use super::publish::keep_publishing;
use super::random::Random;
use super::rates::keep_reading;
use super::records::Records;
use super::rises::keep_raising;
use super::{EventLog, Setup, StartError};
use crate::state::{Descriptors, Shared};

/// Maximum number of concurrent checks, so that clients do not run out of descriptors.
const CHECKS_MAX: usize = 1_000;

/// The control plane. Its tasks run on the runtime that calls [`Controller::spawn_tasks`] and keep the
/// controller alive.
#[derive(Debug)]
pub struct Controller {
    shared: Arc<Shared>,
    /// Must not be held across an await.
    records: Mutex<Records>,
    pub(super) log: EventLog,
    /// Set once tasks may start.
    pub(super) runtime: OnceLock<Handle>,
    pub(super) random: Random,
    pub(super) check_permits: Semaphore,
    /// Signals that changes wait for publication.
    pub(super) news: Notify,
    /// Signals that a server's weight may have to rise.
    pub(super) rises: Notify,
    /// Signals that a lookup of a name has ended, with or without an answer.
    pub(super) name_answered: Notify,
    /// File for the runtime state.
    pub(super) state_file: Option<PathBuf>,
    /// Version of the runtime state in the file. A writer must hold this lock.
    pub(super) saved_version: tokio::sync::Mutex<u64>,
    pub(super) started: Instant,
    pub(super) host: String,
    pub(super) workers: usize,
}

impl Controller {
    /// Creates the controller and the state that workers need. Reads certificates and keys, so it blocks on
    /// the disk; starts no tasks. Counters have one shard for each worker and one for the control plane.
    pub fn start(
        plan: Plan,
        runtime: RuntimeState,
        setup: Setup,
    ) -> Result<(Arc<Self>, Arc<Shared>), StartError> {
        let state_file = plan.process.state.clone();
        let parts = Parts::make(&plan, &Before::default()).map_err(StartError)?;
        let now = Instant::now();
        let threads = setup.workers.max(1) + 1;
        let (records, live, notes) = Records::first(plan, runtime, parts, setup.access_log, threads, now);
        let descriptors = Descriptors::new(setup.descriptors_max, threads - 1);
        let shared =
            Shared::new(threads, setup.connections_max, descriptors, live).with_service(setup.service);
        let shared = Arc::new(shared);
        notes.iter().for_each(|note| setup.log.line(note));
        let controller = Self {
            shared: Arc::clone(&shared),
            records: Mutex::new(records),
            log: setup.log,
            runtime: OnceLock::new(),
            random: Random::seeded(),
            check_permits: Semaphore::new(CHECKS_MAX),
            news: Notify::new(),
            rises: Notify::new(),
            name_answered: Notify::new(),
            state_file,
            saved_version: tokio::sync::Mutex::new(0),
            started: now,
            host: process_facts::host(),
            workers: setup.workers.max(1),
        };
        Ok((Arc::new(controller), shared))
    }

    /// Starts all tasks on the current runtime: checks, agents, name resolution, ejection, rates,
    /// certificates and memory. Later calls do nothing.
    pub fn spawn_tasks(self: &Arc<Self>) {
        let handle = Handle::current();
        if self.runtime.set(handle.clone()).is_err() {
            return;
        }
        handle.spawn(keep_publishing(Arc::clone(self)));
        handle.spawn(keep_judging(Arc::clone(self)));
        handle.spawn(keep_raising(Arc::clone(self)));
        handle.spawn(keep_reading(Arc::clone(self)));
        handle.spawn(keep_reporting(Arc::clone(self)));
        handle.spawn(keep_watching_memory(Arc::clone(self)));
        self.start_missing(&mut self.records());
        self.save_later();
    }

    /// Refuses all further commands that change something, because the process is stopping.
    pub fn begin_stop(&self) {
        self.records().process.stopping = true;
    }

    /// Returns the state that workers read.
    pub fn shared(&self) -> &Arc<Shared> {
        &self.shared
    }

    /// Starts each task that the current plan needs and that is not running.
    pub(super) fn start_missing(self: &Arc<Self>, records: &mut Records) {
        for pool in &mut records.pools {
            let (is_checked, has_agents) =
                (pool.shared.plan.check.is_some(), pool.shared.plan.agent.is_some());
            let name = pool.name.clone();
            for server in pool.members.iter_mut() {
                self.start_check(&name, is_checked, server);
                self.start_agent(&name, has_agents, server);
            }
        }
        self.start_names(records);
        self.watch_certificates(records);
    }

    pub(super) fn records(&self) -> MutexGuard<'_, Records> {
        // The records are the best available state, even if a panic interrupted a change.
        self.records.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the time since the start, which is the clock of ejection.
    pub(super) fn since_start(&self, now: Instant) -> Duration {
        now.saturating_duration_since(self.started)
    }
}
