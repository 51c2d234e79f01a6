//! A controller for tests.

use std::fmt::Write;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use weir_config::{Plan, Source};
use weir_control::{Answer, Command, Reply, RuntimeState, ServerSnapshot, Snapshot};
use weir_testkit::PATIENCE;

use crate::control::{Controller, EventLog, Setup};
use crate::state::{PoolState, ServerState, Shared};

/// A controller with its log lines.
pub(in crate::control) struct Rig {
    pub(in crate::control) controller: Arc<Controller>,
    pub(in crate::control) shared: Arc<Shared>,
    lines: Arc<Mutex<Vec<String>>>,
}

/// Number of workers in tests. The control plane's counter shard comes after theirs.
const WORKERS: usize = 2;

/// Loads a config of `pools` with the minimum of other settings.
pub(in crate::control) fn plan(pools: &str) -> Plan {
    let text = format!(
        "[weir]\ncontrol = false\nstate = false\n\n[listener.web]\nbind = \"127.0.0.1:8080\"\npool = \"web\"\n\n{pools}"
    );
    whole_plan(&text)
}

/// Loads a complete config.
pub(in crate::control) fn whole_plan(text: &str) -> Plan {
    let source = Source { name: "test.toml".to_owned(), text: text.to_owned() };
    match weir_config::load(&[source], &|_| None) {
        Ok(loaded) => loaded.plan,
        Err(errors) => {
            let all = errors.iter().fold(String::new(), |mut all, error| {
                let _ = writeln!(all, "{error}");
                all
            });
            panic!("{all}");
        }
    }
}

/// Waits until `condition` returns true.
pub(in crate::control) async fn eventually(what: &str, mut condition: impl FnMut() -> bool) {
    let end = Instant::now() + PATIENCE;
    while !condition() {
        assert!(Instant::now() < end, "not within {PATIENCE:?}: {what}");
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}

impl Rig {
    /// Creates a controller without tasks.
    pub(in crate::control) fn still(plan: Plan, runtime: RuntimeState) -> Self {
        let lines = Arc::new(Mutex::new(Vec::new()));
        let log = {
            let lines = Arc::clone(&lines);
            EventLog::new(move |line| lines.lock().unwrap().push(line.to_owned()))
        };
        let setup = Setup {
            workers: WORKERS,
            connections_max: 1_000,
            descriptors_max: 1_024,
            access_log: None,
            service: None,
            log,
        };
        let (controller, shared) = Controller::start(plan, runtime, setup).unwrap();
        Self { controller, shared, lines }
    }

    /// Creates a controller with all its tasks.
    pub(in crate::control) fn running(plan: Plan) -> Self {
        let rig = Self::still(plan, RuntimeState::default());
        rig.controller.spawn_tasks();
        rig
    }

    /// Returns the log lines so far.
    pub(in crate::control) fn lines(&self) -> Vec<String> {
        self.lines.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(in crate::control) fn pool(&self, name: &str) -> Arc<PoolState> {
        let live = self.shared.live();
        let found = live.pools.iter().find(|pool| pool.plan.name.as_str() == name);
        Arc::clone(found.unwrap())
    }

    /// Returns the names of the servers of pool `web` that workers select from, in order of their slots.
    pub(in crate::control) fn rotation(&self) -> Vec<String> {
        let view = self.pool("web").view();
        let name = |slot: &usize| view.servers[*slot].as_ref().unwrap().name.to_string();
        view.roster.members().iter().map(name).collect()
    }

    /// Returns a server of pool `web`, as workers see it.
    pub(in crate::control) fn server(&self, name: &str) -> Arc<ServerState> {
        let view = self.pool("web").view();
        let found = view.servers.iter().flatten().find(|server| server.name.as_str() == name);
        Arc::clone(found.unwrap())
    }

    pub(in crate::control) fn snapshot(&self) -> Snapshot {
        self.controller.snapshot()
    }

    /// Returns the snapshot of a server of pool `web`.
    pub(in crate::control) fn shown(&self, name: &str) -> ServerSnapshot {
        let snapshot = self.snapshot();
        let pool = snapshot.pools.into_iter().find(|pool| pool.name == "web").unwrap();
        pool.servers.into_iter().find(|server| server.name == name).unwrap()
    }

    /// Applies a command, given in JSON as on the wire.
    pub(in crate::control) async fn give(&self, command: &str) -> Reply {
        let command: Command = serde_json::from_str(command).unwrap();
        self.controller.apply(command).await
    }

    /// Applies a command that succeeds. Returns true if it changed anything, and its notes.
    pub(in crate::control) async fn done(&self, command: &str) -> (bool, Vec<String>) {
        match self.give(command).await {
            Reply::Ok(Answer::Done { changed, notes }) => (changed, notes),
            other => panic!("{command}: {other:?}"),
        }
    }

    /// Applies a command that is refused. Returns `code: message`.
    pub(in crate::control) async fn refused(&self, command: &str) -> String {
        match self.give(command).await {
            Reply::Error(refusal) => format!("{}: {}", refusal.code.name(), refusal.message),
            other => panic!("{command}: {other:?}"),
        }
    }

    /// Reloads and returns the notes.
    pub(in crate::control) async fn reload(&self, plan: Plan) -> Vec<String> {
        let prepared = self.controller.prepare_reload(plan).await.unwrap();
        self.controller.commit(prepared, None).notes
    }
}
