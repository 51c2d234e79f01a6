//! The two phases of a reload.

use std::collections::BTreeSet;
use std::sync::Arc;

use tokio::task::spawn_blocking;
use tokio::time::Instant;
use weir_config::Plan;
use weir_config::diff::{Change, diff};
use weir_model::ServerAddress;

use super::names::{PATIENCE, Resolver, ask_new};
use super::parts::{Before, Parts};
use super::records::Records;
use super::{Controller, Prepared, ReloadError, ReloadOutcome};
use crate::access_log::LogPort;

impl Controller {
    /// Prepares a reload: reads every file that `plan` names and looks up new server names (two seconds at
    /// most). Nothing changes yet. If it fails, the caller must call [`Controller::reload_failed`].
    pub async fn prepare_reload(self: &Arc<Self>, plan: Plan) -> Result<Prepared, ReloadError> {
        let (before, names_known) = {
            let records = self.records();
            (records.before(), records.resolver.is_some())
        };
        let read = move || {
            let parts = Parts::make(&plan, &before);
            let resolver = (names_known || has_names(&plan)).then(|| Resolver::new(&plan.resolver));
            (plan, parts, resolver)
        };
        let made = spawn_blocking(read).await.map_err(|error| ReloadError(vec![error.to_string()]))?;
        let (plan, parts, resolver) = made;
        let parts = parts.map_err(ReloadError)?;
        let resolver = resolver.map(|made| self.tell_trouble(made));
        let unknown = self.unknown_names(&plan);
        let names = match &resolver {
            Some(resolver) if !unknown.is_empty() => ask_new(resolver, unknown, PATIENCE).await,
            _ => Default::default(),
        };
        Ok(Prepared { plan, parts, resolver, names })
    }

    /// Completes a reload: puts the prepared plan into force. Cannot fail.
    pub fn commit(self: &Arc<Self>, prepared: Prepared, access_log: Option<LogPort>) -> ReloadOutcome {
        let Prepared { plan, mut parts, resolver, names } = prepared;
        let kept = std::mem::take(&mut parts.notes);
        let now = Instant::now();
        let mut records = self.records();
        let changes = diff(&records.plan, &plan);
        let restart = changes.iter().flat_map(Change::needs_restart);
        let restart = restart.map(|key| format!("{key}: the change takes effect after a restart"));
        let mut notes: Vec<String> = restart.collect();
        let changes = changes.into_iter().filter(Change::matters).collect();
        if records.plan.access_log != plan.access_log {
            records.process.log_replaced(&self.shared().live());
        }
        if resolver.is_some() {
            records.resolver = resolver;
            // Lookups start again at once, with the new rules and the new servers.
            records.names.stop_asking();
        }
        records.names.expect(names);
        let (live, dropped) = records.enforce(plan, parts, access_log, self.shared().threads, now);
        records.names.expect(Default::default());
        self.shared().publish(live);
        records.process.reloads += 1;
        records.process.reload_error = None;
        self.start_missing(&mut records);
        self.rises.notify_one();
        drop(records);
        self.save_later();
        notes.extend(dropped);
        notes.extend(kept);
        ReloadOutcome { changes, notes }
    }

    /// Records a failed reload: the config did not load, its preparation failed, or a socket could not be
    /// opened.
    pub fn reload_failed(&self, error: &str) {
        let mut records = self.records();
        records.process.reloads_failed += 1;
        records.process.reload_error = Some(error.to_owned());
    }

    /// Schedules saving the runtime changes, without waiting.
    pub(super) fn save_later(self: &Arc<Self>) {
        let Some(runtime) = self.runtime.get() else { return };
        let controller = Arc::clone(self);
        runtime.spawn(async move { controller.save().await });
    }

    /// Returns the resolver. Logs a line if it has no DNS servers.
    pub(super) fn tell_trouble(&self, (resolver, trouble): (Resolver, Option<String>)) -> Resolver {
        if let Some(trouble) = trouble {
            self.log.line(format!("names are looked for in /etc/hosts only: {trouble}"));
        }
        resolver
    }

    fn unknown_names(&self, plan: &Plan) -> BTreeSet<Arc<str>> {
        let records = self.records();
        let unknown = names(plan).filter(|host| records.names.answer(host).is_none());
        unknown.cloned().collect()
    }
}

impl Records {
    /// Returns the resources that a reload may keep.
    fn before(&self) -> Before {
        let listeners = self.listeners.iter().filter_map(|listener| {
            let state = &listener.state;
            Some((state.plan.name.clone(), Arc::clone(state.tls.as_ref()?)))
        });
        let pools = self.pools.iter().map(|pool| (pool.name.clone(), pool.tls.clone()));
        Before { listeners: listeners.collect(), pools: pools.collect() }
    }
}

fn names(plan: &Plan) -> impl Iterator<Item = &Arc<str>> {
    plan.pools.iter().flat_map(|pool| &pool.servers).filter_map(|server| match &server.address {
        ServerAddress::Named(host) => Some(&host.host),
        ServerAddress::Inet(_) | ServerAddress::Unix(_) => None,
    })
}

fn has_names(plan: &Plan) -> bool {
    names(plan).next().is_some()
}
