//! Puts a plan into force: the first plan, and the new plan of each reload.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use tokio::time::Instant;
use weir_config::Plan;
use weir_config::plan::{PoolPlan, ServerPlan};
use weir_control::{EffectiveServer, RuntimeState, ServerSpec};
use weir_model::{PoolName, ServerName};

use super::{Ground, ListenerBook, PoolRecord, ProcessRecord, Records};
use crate::access_log::LogPort;
use crate::control::names::NameBook;
use crate::control::parts::{Change, ListenerParts, Parts, PoolParts};
use crate::state::{ListenerState, Live};
use crate::turns::Turns;

impl Records {
    /// Creates the records from the first plan. Also returns the state for workers, and notes on the saved
    /// runtime changes.
    pub(in crate::control) fn first(
        plan: Plan,
        runtime: RuntimeState,
        parts: Parts,
        access_log: Option<LogPort>,
        threads: usize,
        now: Instant,
    ) -> (Self, Live, Vec<String>) {
        let mut records = Self {
            plan: Plan { listeners: Vec::new(), pools: Vec::new(), ..plan.clone() },
            runtime,
            runtime_version: 0,
            pools: Vec::new(),
            pool_index: HashMap::new(),
            retiring: Vec::new(),
            listeners: ListenerBook::default(),
            names: NameBook::default(),
            resolver: None,
            certificate_watch: Vec::new(),
            process: ProcessRecord::new(now),
            reading: Turns::default(),
        };
        let (live, notes) = records.enforce(plan, parts, access_log, threads, now);
        (records, live, notes)
    }

    /// Puts a plan into force. Returns the state for workers and notes for the operator.
    /// - A server with the same name keeps its state.
    /// - A pool with the same settings keeps the state that workers see.
    /// - A removed pool that returns while it is still in use continues as the same pool.
    pub(in crate::control) fn enforce(
        &mut self,
        plan: Plan,
        parts: Parts,
        access_log: Option<LogPort>,
        threads: usize,
        now: Instant,
    ) -> (Live, Vec<String>) {
        let specs: HashMap<&PoolName, Vec<ServerSpec>> =
            plan.pools.iter().map(|pool| (&pool.name, pool.servers.iter().map(spec_of).collect())).collect();
        let before = self.runtime.clone();
        let notes = self.runtime.reconcile(|pool| specs.get(pool).map(Vec::as_slice));
        if self.runtime != before {
            self.runtime_version += 1;
        }
        let known = self.pools.drain(..).chain(self.retiring.drain(..));
        let mut known: HashMap<PoolName, PoolRecord> = known.map(|pool| (pool.name.clone(), pool)).collect();
        for (pool, PoolParts { tls, sticky, redirect }) in plan.pools.iter().zip(parts.pools) {
            let configured = specs.get(&pool.name).map_or(&[][..], Vec::as_slice);
            let wanted = wanted(&self.runtime, &self.names, &pool.name, configured);
            let mut ground = Ground { names: &mut self.names, threads, now };
            let record = match known.remove(&pool.name) {
                None => {
                    let tls = match tls {
                        Change::New(tls) => tls,
                        Change::Same => Default::default(),
                    };
                    let mut record = PoolRecord::new(pool, tls, (sticky, redirect), threads, now);
                    record.sync(wanted, pool, &mut ground);
                    record.publish_first(now);
                    record
                }
                Some(mut record) => {
                    let is_new = matches!(tls, Change::New(_))
                        || !same_settings(&record.shared.plan, pool)
                        || !record.has_sticky(pool, sticky.as_ref())
                        || record.shared.redirect != redirect;
                    record.configure(pool, tls, &mut ground);
                    record.sync(wanted, pool, &mut ground);
                    match is_new {
                        true => record.replace(pool, (sticky, redirect), now),
                        false if record.is_stale() => record.publish(now),
                        false => {}
                    }
                    record
                }
            };
            self.pools.push(record);
        }
        // Workers still use the previous plan, and requests that began under it finish under it.
        self.retiring = known.into_values().collect();
        self.index_pools();
        self.listeners.fold();
        let listeners = self.listener_states(&plan, parts.listeners, threads);
        self.listeners.set(&listeners, now);
        let pools = self.pools.iter().map(|pool| Arc::clone(&pool.shared)).collect();
        let live = Live { listeners, pools, error_pages: plan.error_pages.clone(), access_log };
        self.plan = plan;
        self.process.plan_since = now;
        (live, notes)
    }

    /// Updates a pool's servers after a host name has changed its addresses. Returns the log line if servers
    /// were added or removed.
    pub(in crate::control) fn follow_names(
        &mut self,
        name: &PoolName,
        threads: usize,
        now: Instant,
    ) -> Option<String> {
        // A pool that is no longer in the plan keeps its servers.
        let index = *self.pool_index.get(name)?;
        let Self { plan, runtime, pools, names, .. } = self;
        let (plan, pool) = (plan.pools.get(index)?, pools.get_mut(index)?);
        let configured: Vec<ServerSpec> = plan.servers.iter().map(spec_of).collect();
        let wanted = wanted(runtime, names, name, &configured);
        let there = |pool: &PoolRecord| -> BTreeSet<ServerName> {
            pool.members.iter().map(|record| record.spec.spec.name.clone()).collect()
        };
        let before = there(pool);
        pool.sync(wanted, plan, &mut Ground { names, threads, now });
        let after = there(pool);
        let list = |names: Vec<&ServerName>| match names.is_empty() {
            true => "none".to_owned(),
            false => names.iter().map(|name| name.as_str()).collect::<Vec<_>>().join(", "),
        };
        let (new, gone) = (after.difference(&before).collect(), before.difference(&after).collect());
        (before != after).then(|| {
            format!(
                "pool {name}: addresses of a name have changed: new servers: {}; gone: {}",
                list(new),
                list(gone)
            )
        })
    }

    fn listener_states(
        &self,
        plan: &Plan,
        parts: Vec<ListenerParts>,
        threads: usize,
    ) -> Vec<Arc<ListenerState>> {
        let each = plan.listeners.iter().zip(parts).map(|(listener, ListenerParts { mode, tls })| {
            let (counters, open) = self.listeners.counters(&listener.name, threads);
            Arc::new(ListenerState { plan: listener.clone(), counters, open, tls, mode })
        });
        each.collect()
    }
}

/// Returns the servers that a pool must have. A host name with several addresses becomes one server for each
/// address. The same holds for a server with a runtime change of one address, because the change applies to
/// that address only.
pub(in crate::control) fn wanted(
    runtime: &RuntimeState,
    names: &NameBook,
    pool: &PoolName,
    configured: &[ServerSpec],
) -> Vec<EffectiveServer> {
    let mut wanted = Vec::new();
    for server in runtime.apply(pool, configured) {
        let is_changed = |ip| runtime.is_changed_at(pool, &server.spec.name, ip);
        let addresses = names.servers_of(&server.spec, is_changed);
        match addresses.is_empty() {
            true => wanted.push(server),
            false => wanted.extend(addresses.into_iter().map(|ip| runtime.at_address(pool, &server, ip))),
        }
    }
    wanted
}

/// Converts a server of the config to the form that commands use.
pub(in crate::control) fn spec_of(server: &ServerPlan) -> ServerSpec {
    let ServerPlan {
        name,
        address,
        weight,
        auto_weight,
        backup,
        priority,
        zone,
        agent_port,
        connections_max,
    } = server.clone();
    let new = ServerSpec::new(name, address);
    ServerSpec { weight, auto_weight, backup, priority, zone, agent_port, connections_max, ..new }
}

/// Returns true if two plans of a pool differ in their servers only.
fn same_settings(a: &PoolPlan, b: &PoolPlan) -> bool {
    // Destructured, so that the compiler rejects a new setting that is missing here.
    let PoolPlan {
        name,
        algorithm,
        hash,
        sticky,
        measure,
        servers: _,
        connections_max,
        queue,
        concurrency,
        check,
        agent,
        slow_start,
        auto_weight,
        membership,
        zone,
        ejection,
        breaker,
        tls,
        proxy_protocol,
        timeouts,
        retry,
        hedge,
        reuse,
        collected_body_bytes_max,
        nobody_left,
        redirect,
        lenient,
        offload,
    } = a;
    *name == b.name
        && *algorithm == b.algorithm
        && *measure == b.measure
        && *hash == b.hash
        && *sticky == b.sticky
        && *connections_max == b.connections_max
        && *queue == b.queue
        && *concurrency == b.concurrency
        && *breaker == b.breaker
        && *hedge == b.hedge
        && *check == b.check
        && *agent == b.agent
        && *slow_start == b.slow_start
        && *auto_weight == b.auto_weight
        && *membership == b.membership
        && *zone == b.zone
        && *ejection == b.ejection
        && *tls == b.tls
        && *proxy_protocol == b.proxy_protocol
        && *timeouts == b.timeouts
        && *retry == b.retry
        && *reuse == b.reuse
        && *collected_body_bytes_max == b.collected_body_bytes_max
        && *nobody_left == b.nobody_left
        && *redirect == b.redirect
        && *lenient == b.lenient
        && *offload == b.offload
}
