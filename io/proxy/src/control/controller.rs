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

/// Checks under way at a time: their descriptors must not be missing where clients need them.
const CHECKS_MAX: usize = 1_000;

/// The control plane. Its tasks live on the runtime that [`Controller::spawn_tasks`] is called on, and keep it alive.
#[derive(Debug)]
pub struct Controller {
    shared: Arc<Shared>,
    /// Never held across an await.
    records: Mutex<Records>,
    pub(super) log: EventLog,
    /// Set once tasks may be started.
    pub(super) runtime: OnceLock<Handle>,
    pub(super) random: Random,
    pub(super) check_permits: Semaphore,
    /// Something is to be published.
    pub(super) news: Notify,
    /// A server's weight may have to rise.
    pub(super) rises: Notify,
    /// A name has been answered for, or has not.
    pub(super) name_answered: Notify,
    /// Where the runtime state is kept.
    pub(super) state_file: Option<PathBuf>,
    /// The version of the runtime state that is in the file; whoever holds it writes.
    pub(super) saved_version: tokio::sync::Mutex<u64>,
    pub(super) started: Instant,
    pub(super) host: String,
    pub(super) workers: usize,
}

impl Controller {
    /// Builds what workers need to begin. Reads certificates and keys; starts nothing. Counters have one shard for each
    /// worker and one for the control plane. Blocks on the disk.
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

    /// Starts checks, agents, name resolution, ejection, rates and the watches over certificates and memory, on the current runtime. Only the
    /// first call does anything.
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

    /// From now on commands that change something are refused: the process is stopping.
    pub fn begin_stop(&self) {
        self.records().process.stopping = true;
    }

    /// What workers read.
    pub fn shared(&self) -> &Arc<Shared> {
        &self.shared
    }

    /// Starts every task that the plan in force needs and that does not run.
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
        // What a panic may have left half done is still the best that is known.
        self.records.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Time as ejection counts it.
    pub(super) fn since_start(&self, now: Instant) -> Duration {
        now.saturating_duration_since(self.started)
    }
}
