//! Applies runtime commands to pools and servers.

use std::sync::Arc;

use tokio::time::Instant;
use weir_balance::AVERAGE_WEIGHT;
use weir_config::plan::PoolPlan;
use weir_control::{
    AddressOf, AdminState, Answer, Code, Command, EffectiveServer, Refusal, Reply, ServerSpec, What,
};
use weir_model::{PoolName, ServerAddress, ServerName};

use super::Controller;
use super::phrase::count;
use super::records::{Ground, PoolRecord, Records, ServerRecord, spec_of, tls_host, wanted};

/// Effect of a command.
struct Done {
    changed: bool,
    notes: Vec<String>,
}

impl Controller {
    /// Applies a command. Its changes are in force and saved when this returns. Rejects [`Command::Reload`],
    /// because the program reads the config.
    pub async fn apply(self: &Arc<Self>, command: Command) -> Reply {
        match &command {
            Command::Show { what, pool } => self.show(*what, pool.as_ref()),
            Command::ClearSticky { pool, key } => self.clear_sticky(pool, key.as_deref()),
            Command::Reload => Reply::error(Code::Internal, "a reload does not belong here"),
            Command::FleetScale { .. } | Command::FleetPause { .. } | Command::FleetHistory { .. } => {
                Reply::error(Code::Internal, "fleets do not belong here")
            }
            Command::StorageUnlock { .. } => Reply::error(Code::Internal, "storage areas do not belong here"),
            _ => match self.change(&command) {
                Err(refusal) => refusal.into(),
                Ok(Done { changed, mut notes }) => {
                    if changed {
                        notes.extend(self.save().await);
                    }
                    Reply::Ok(Answer::Done { changed, notes })
                }
            },
        }
    }

    fn show(&self, what: What, pool: Option<&PoolName>) -> Reply {
        if let Some(pool) = pool
            && self.records().pool(pool).is_none()
        {
            return no_pool(pool).into();
        }
        if what == What::Runtime {
            return Reply::Ok(Answer::Runtime(self.records().runtime.clone()));
        }
        let part = match self.snapshot().select(what, pool) {
            Ok(part) => part,
            Err(refusal) => return refusal.into(),
        };
        Reply::Ok(Answer::Snapshot(Box::new(part)))
    }

    /// Deletes sticky entries. They do not survive a restart, so nothing is saved.
    fn clear_sticky(&self, pool: &PoolName, key: Option<&str>) -> Reply {
        let sticky = {
            let records = self.records();
            match records.pool(pool) {
                None => return no_pool(pool).into(),
                Some(record) => record.shared.sticky.clone(),
            }
        };
        let Some(sticky) = sticky else {
            let message = format!("pool {pool} is not sticky: nothing is remembered of its clients");
            return refusal(Code::BadCommand, message).into();
        };
        // Deleting from a large table takes time, so the records are not locked meanwhile.
        match sticky.forget(key) {
            None => {
                let message =
                    format!("pool {pool}: clients carry their server in a cookie: there is no table");
                refusal(Code::BadCommand, message).into()
            }
            Some(0) => Reply::Ok(Answer::Done { changed: false, notes: Vec::new() }),
            Some(forgotten) => {
                let clients = count(forgotten as u64, "client was", "clients were");
                Reply::Ok(Answer::Done { changed: true, notes: vec![format!("{clients} forgotten")] })
            }
        }
    }

    fn change(self: &Arc<Self>, command: &Command) -> Result<Done, Refusal> {
        let now = Instant::now();
        let mut records = self.records();
        if records.process.stopping {
            return Err(refusal(Code::Stopping, "the process is stopping".to_owned()));
        }
        let Some((name, server)) = victim(command) else {
            return Err(refusal(Code::Internal, format!("{} changes no pool", command.name())));
        };
        let Some(pool) = records.pool(name) else { return Err(no_pool(name)) };
        permit(command, pool, records.runtime.get(name, server.unwrap_or(name)).is_some())?;
        let changed = records.record(command, name, server, self.shared().threads, now);
        let Some(pool) = records.pool_mut(name) else { return Err(no_pool(name)) };
        if pool.is_stale() {
            pool.publish(now);
        }
        let (is_checked, has_agents) = (pool.shared.plan.check.is_some(), pool.shared.plan.agent.is_some());
        let start = |server: &mut ServerRecord| {
            self.start_check(name, is_checked, server);
            self.start_agent(name, has_agents, server);
        };
        self.rises.notify_one();
        match server {
            Some(server) if !pool.is_split(server) => {
                if let Some(server) = pool.members.get_mut(server) {
                    start(server);
                }
            }
            _ => pool.members.iter_mut().for_each(start),
        }
        let notes = notes(pool, server.and_then(|server| pool.members.get(server)), command);
        self.start_names(&mut records);
        Ok(Done { changed, notes })
    }
}

impl Records {
    /// Records a permitted command and updates the pool. Returns false if it changed nothing.
    fn record(
        &mut self,
        command: &Command,
        name: &PoolName,
        server: Option<&ServerName>,
        threads: usize,
        now: Instant,
    ) -> bool {
        let Some(index) = self.pool_index.get(name).copied() else { return false };
        let Self { plan, runtime, pools, names, .. } = self;
        let (Some(plan), Some(pool)) = (plan.pools.get(index), pools.get_mut(index)) else { return false };
        let mut ground = Ground { names, threads, now };
        let changed = match server {
            Some(server) => {
                let before = runtime.get(name, server).cloned();
                let configured = plan.servers.iter().find(|one| one.name == *server).map(spec_of);
                runtime.record(command, configured.is_some());
                let effective = runtime.effective(name, server, configured.as_ref());
                let splits = |server: &EffectiveServer| {
                    let is_changed = |ip| runtime.is_changed_at(name, &server.spec.name, ip);
                    !ground.names.servers_of(&server.spec, is_changed).is_empty()
                };
                match effective {
                    effective if pool.is_split(server) || effective.as_ref().is_some_and(splits) => {
                        let wanted = wanted(runtime, ground.names, name, &configured_of(plan));
                        pool.sync(wanted, plan, &mut ground);
                    }
                    Some(wanted) => drop(pool.put(wanted, plan, &mut ground)),
                    None => pool.remove_where(|record| record.spec.spec.name == *server, &mut ground),
                }
                before.as_ref() != runtime.get(name, server)
            }
            None => {
                let before = runtime.len();
                runtime.record(command, true);
                let wanted = wanted(runtime, ground.names, name, &configured_of(plan));
                pool.sync(wanted, plan, &mut ground);
                // The only command for a whole pool is a reset.
                before != runtime.len()
            }
        };
        self.runtime_version += u64::from(changed);
        changed
    }
}

fn configured_of(plan: &PoolPlan) -> Vec<ServerSpec> {
    plan.servers.iter().map(spec_of).collect()
}

/// Returns the pool that a command concerns, and its server unless it concerns all servers.
fn victim(command: &Command) -> Option<(&PoolName, Option<&ServerName>)> {
    match command {
        Command::ServerState { pool, server, .. }
        | Command::ServerWeight { pool, server, .. }
        | Command::ServerAddress { pool, server, .. }
        | Command::RemoveServer { pool, server, .. } => Some((pool, Some(server))),
        Command::AddServer { pool, server } => Some((pool, Some(&server.name))),
        Command::Reset { pool, server } => Some((pool, server.as_ref())),
        Command::Show { .. }
        | Command::ClearSticky { .. }
        | Command::FleetScale { .. }
        | Command::FleetPause { .. }
        | Command::FleetHistory { .. }
        | Command::StorageUnlock { .. }
        | Command::Reload => None,
    }
}

/// Checks that a command is permitted. `is_overridden`: the server has runtime changes already.
fn permit(command: &Command, pool: &PoolRecord, is_overridden: bool) -> Result<(), Refusal> {
    match command {
        Command::ServerState { server, state, .. } => {
            let whole = existing(pool, server)?.iter().find_map(|record| one_address(record, server));
            match whole {
                Some(at) if at.whole != AdminState::Ready && *state == AdminState::Ready => {
                    let message = format!(
                        "pool {}, server {server}: it is one address of server {1}, which is not ready: make server {1} ready",
                        pool.name, at.server
                    );
                    Err(refusal(Code::BadCommand, message))
                }
                _ => Ok(()),
            }
        }
        Command::ServerWeight { server, .. } => existing(pool, server).map(drop),
        Command::ServerAddress { server, address, .. } => {
            existing(pool, server)?
                .into_iter()
                .try_for_each(|record| not_one_address(pool, record, server))?;
            speak_tls(pool, server, address)
        }
        Command::AddServer { server, .. } => {
            if pool.is_split(&server.name) {
                let message = format!("pool {}, server {}: there is one already", pool.name, server.name);
                return Err(refusal(Code::Exists, message));
            }
            if let Some(record) = pool.members.get(&server.name) {
                let message = format!("pool {}, {}: there is one already", pool.name, record.label());
                return Err(refusal(Code::Exists, message));
            }
            if server.connections_max == Some(0) {
                let message = format!(
                    "pool {}, server {}: connections_max is 0: at least 1, or none for no limit",
                    pool.name, server.name
                );
                return Err(refusal(Code::BadCommand, message));
            }
            if server.auto_weight.is_some() && !pool.shared.plan.auto_weight.is_on {
                let message = format!(
                    "pool {}, server {}: no weights are measured: in the config no server has weight = \"auto\"",
                    pool.name, server.name
                );
                return Err(refusal(Code::BadCommand, message));
            }
            speak_tls(pool, &server.name, &server.address)
        }
        Command::RemoveServer { server, force, .. } => {
            for record in existing(pool, server)? {
                not_one_address(pool, record, server)?;
                if !force {
                    unused(pool, record)?;
                }
            }
            Ok(())
        }
        Command::Reset { server: Some(server), .. } if !is_overridden => existing(pool, server).map(drop),
        Command::Reset { .. }
        | Command::Show { .. }
        | Command::ClearSticky { .. }
        | Command::FleetScale { .. }
        | Command::FleetPause { .. }
        | Command::FleetHistory { .. }
        | Command::StorageUnlock { .. }
        | Command::Reload => Ok(()),
    }
}

/// Returns the servers with this name: the server itself, or the servers for the addresses of its host name.
fn existing<'a>(pool: &'a PoolRecord, server: &ServerName) -> Result<Vec<&'a ServerRecord>, Refusal> {
    let found: Vec<&ServerRecord> = match pool.members.get(server) {
        Some(record) => vec![record],
        None => pool.addresses_of(server).collect(),
    };
    match found.is_empty() {
        true => Err(refusal(Code::NotFound, format!("pool {} has no server {server}", pool.name))),
        false => Ok(found),
    }
}

/// Returns the original server of `record` if `server` is the name of a single address.
fn one_address<'a>(record: &'a ServerRecord, server: &ServerName) -> Option<&'a AddressOf> {
    record.spec.at.as_ref().filter(|at| at.server != *server)
}

/// Refuses to change a server that is one address of a host name: DNS determines those addresses.
fn not_one_address(pool: &PoolRecord, record: &ServerRecord, server: &ServerName) -> Result<(), Refusal> {
    let Some(at) = one_address(record, server) else { return Ok(()) };
    let message = format!(
        "pool {}, server {server}: it is one address of server {}: drain it, or name that server",
        pool.name, at.server
    );
    Err(refusal(Code::BadCommand, message))
}

fn unused(pool: &PoolRecord, record: &ServerRecord) -> Result<(), Refusal> {
    let in_use = |what: String| {
        let message = format!("pool {}, {}: {what}", pool.name, record.label());
        Err(refusal(Code::InUse, message))
    };
    if record.spec.state == AdminState::Ready {
        return in_use("it is still in rotation: drain it first, or remove it by force".to_owned());
    }
    match record.state.load.active() {
        0 => Ok(()),
        active => {
            let requests = count(active.into(), "request is", "requests are");
            in_use(format!("{requests} still in flight: wait, or remove it by force"))
        }
    }
}

/// Checks that the pool's TLS settings accept `address` if the pool uses TLS.
fn speak_tls(pool: &PoolRecord, server: &ServerName, address: &ServerAddress) -> Result<(), Refusal> {
    let tried = pool.tls.checks.as_ref().map(|tls| tls.connector(&tls_host(address))).transpose();
    tried.map(drop).map_err(|error| {
        refusal(Code::BadCommand, format!("pool {}, server {server} ({address}): {error}", pool.name))
    })
}

/// Returns hints for the operator about the effect of a command.
fn notes(pool: &PoolRecord, server: Option<&ServerRecord>, command: &Command) -> Vec<String> {
    let mut notes = Vec::new();
    if let Some(record) = server {
        let active = record.state.load.active();
        let still = || count(active.into(), "request is", "requests are");
        let health = &record.health;
        match (command, record.spec.state) {
            (Command::ServerState { .. }, AdminState::Drain | AdminState::Maintenance) if active > 0 => {
                notes.push(format!("{} still in flight at server {}", still(), record.spec.spec.name));
            }
            (
                Command::ServerState { .. } | Command::AddServer { .. } | Command::ServerAddress { .. },
                AdminState::Ready,
            ) if !health.is_up() => {
                let why = health.unreachable().unwrap_or("its checks have not passed yet");
                notes.push(format!("server {} gets no requests yet: {why}", record.spec.spec.name));
            }
            _ => {}
        }
    }
    if let Command::AddServer { server, .. } = command
        && pool.shared.plan.auto_weight.is_on
        && server.auto_weight.is_none()
    {
        notes.push(format!(
            "server {} weighs {}, while weights of others are found: an average server has {AVERAGE_WEIGHT} (--weight auto finds it)",
            server.name, server.weight
        ));
    }
    if !pool.rotation().is_usable() {
        notes.push(format!("no server of pool {} is left in rotation", pool.name));
    } else if pool.rotation().is_on_backups() {
        notes.push(format!("only backup servers of pool {} are left in rotation", pool.name));
    }
    notes
}

fn no_pool(name: &PoolName) -> Refusal {
    refusal(Code::NotFound, format!("there is no pool {name}"))
}

fn refusal(code: Code, message: String) -> Refusal {
    Refusal { code, message }
}
