//! The runtime changes to servers, which override the config until they are reset.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fmt;

use serde::{Deserialize, Serialize};
use weir_balance::{AVERAGE_WEIGHT, KnownSpeeds};
use weir_model::{Name, PoolName, ServerAddress, ServerName, Weight, ZoneName};

use crate::address_server::{AddressOf, is_address_of};
use crate::{AdminState, Command, ServerSpec};

/// Runtime changes by pool and server. They override the config until they are reset.
///
/// A file keeps them, and they are applied again after a reload or a restart. They belong to one config.
/// Changes of other configs that used the same file are kept as well, but not applied.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RuntimeState {
    /// Config that the changes belong to; `None` = the next config that reads them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    config: Option<String>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pool: BTreeMap<PoolName, BTreeMap<ServerName, Override>>,
    /// Changes of other configs, by config: kept, but not applied.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    other: BTreeMap<String, BTreeMap<PoolName, BTreeMap<ServerName, Override>>>,
}

/// Runtime change of one server.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Override {
    /// State other than ready.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state: Option<AdminState>,
    /// Changed weight.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub weight: Option<Weight>,
    /// Changed address.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub address: Option<ServerAddress>,
    /// True if a server of the config was removed.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub removed: bool,
    /// Definition of an added server, including its weight and address.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub added: Option<AddedServer>,
}

/// Definition of an added server, without its name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AddedServer {
    /// Listening address.
    pub address: ServerAddress,
    /// Weight: its share of the traffic.
    #[serde(default)]
    pub weight: Weight,
    /// True if the weight is automatic; then `weight` does not count.
    #[serde(default, skip_serializing_if = "crate::is_false")]
    pub auto_weight: bool,
    /// True for a backup server, which gets requests only when no other server can.
    #[serde(default)]
    pub backup: bool,
    /// Priority group. The server gets requests only when no server with a lower number can.
    #[serde(default, skip_serializing_if = "crate::is_zero")]
    pub priority: u16,
    /// Zone of the server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub zone: Option<ZoneName>,
    /// Port of the server's agent, if it differs from the pool's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_port: Option<u16>,
    /// Most concurrent requests (TCP: connections); `None` = no limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub connections_max: Option<u32>,
    /// Fleet of the server; `None` = none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fleet: Option<Name>,
}

/// Server as it should run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EffectiveServer {
    /// Definition, including runtime changes.
    pub spec: ServerSpec,
    /// State set by the operator.
    pub state: AdminState,
    /// Source of the definition.
    pub origin: Origin,
    /// Fields changed at runtime: any of `state`, `weight`, `address`.
    pub overridden: Vec<&'static str>,
    /// Set if the server represents one address of a host name with several addresses.
    pub at: Option<AddressOf>,
}

/// Source of a server's definition.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Origin {
    /// The config.
    #[default]
    Config,
    /// A command.
    Runtime,
}

/// Error for a text that is not a runtime state.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BadRuntimeState(String);

const HEADER: &str = "\
# What was changed at runtime, kept by Weir over reloads and restarts. `weir ctl show runtime` shows it,
# `weir ctl reset POOL[/SERVER]` takes it back. Edit it only while Weir is not running.
";

impl RuntimeState {
    /// Parses the output of [`RuntimeState::to_text`]. An empty text is an empty state.
    pub fn from_text(text: &str) -> Result<Self, BadRuntimeState> {
        toml::from_str(text).map_err(|cause| BadRuntimeState(cause.to_string()))
    }

    /// Returns the state as a TOML document.
    pub fn to_text(&self) -> String {
        // TOML cannot represent maps with keys other than strings, but names are strings.
        let body = toml::to_string(self).unwrap_or_default();
        if body.is_empty() { HEADER.to_owned() } else { format!("{HEADER}\n{body}") }
    }

    /// Makes this the state of `config`. The changes of the previous config are put aside, and earlier
    /// changes of this config apply again.
    pub fn belong_to(&mut self, config: &str) {
        match self.config.replace(config.to_owned()) {
            Some(before) if before != config => {
                let aside = std::mem::take(&mut self.pool);
                if !aside.is_empty() {
                    self.other.insert(before, aside);
                }
                self.pool = self.other.remove(config).unwrap_or_default();
            }
            _ => {}
        }
    }

    /// Returns the configs whose changes are kept but not applied, with the number of servers that each has
    /// changed.
    pub fn others(&self) -> impl Iterator<Item = (&str, usize)> {
        self.other
            .iter()
            .map(|(config, changes)| (config.as_str(), changes.values().map(BTreeMap::len).sum()))
    }

    /// Returns true if there are no changes.
    pub fn is_empty(&self) -> bool {
        self.pool.is_empty()
    }

    /// Returns the number of changed servers.
    pub fn len(&self) -> usize {
        self.pool.values().map(BTreeMap::len).sum()
    }

    /// Iterates over all changes.
    pub fn iter(&self) -> impl Iterator<Item = (&PoolName, &ServerName, &Override)> {
        self.pool
            .iter()
            .flat_map(|(pool, servers)| servers.iter().map(move |(server, change)| (pool, server, change)))
    }

    /// Returns the change of one server.
    pub fn get(&self, pool: &PoolName, server: &ServerName) -> Option<&Override> {
        self.pool.get(pool)?.get(server)
    }

    /// Records an executed command. `configured` is true if the config has the named server; only removal
    /// uses it.
    pub fn record(&mut self, command: &Command, configured: bool) {
        match command {
            Command::ServerState { pool, server, state } => {
                self.change(pool, server, |change| {
                    change.state = Some(*state).filter(|s| *s != AdminState::Ready)
                });
            }
            Command::ServerWeight { pool, server, weight } => {
                self.change(pool, server, |change| match &mut change.added {
                    Some(added) => (added.weight, added.auto_weight) = (*weight, false),
                    None => change.weight = Some(*weight),
                });
            }
            Command::ServerAddress { pool, server, address } => {
                self.change(pool, server, |change| match &mut change.added {
                    Some(added) => added.address = address.clone(),
                    None => change.address = Some(address.clone()),
                });
            }
            Command::AddServer { pool, server } => {
                let added = Some(AddedServer::from(server));
                self.change(pool, &server.name, |change| *change = Override { added, ..Override::default() });
            }
            Command::RemoveServer { pool, server, .. } => {
                let removed = Override { removed: configured, ..Override::default() };
                self.change(pool, server, |change| *change = removed);
            }
            Command::Reset { pool, server: Some(server) } => {
                self.change(pool, server, |change| *change = Override::default());
            }
            Command::Reset { pool, server: None } => {
                self.pool.remove(pool);
            }
            Command::Show { .. }
            | Command::ClearSticky { .. }
            | Command::FleetScale { .. }
            | Command::FleetPause { .. }
            | Command::FleetHistory { .. }
            | Command::StorageUnlock { .. }
            | Command::Reload => {}
        }
    }

    /// Returns the servers that `pool` should have: those of the config in its order, then the added ones by
    /// name.
    pub fn apply(&self, pool: &PoolName, configured: &[ServerSpec]) -> Vec<EffectiveServer> {
        let none = BTreeMap::new();
        let changes = self.pool.get(pool).unwrap_or(&none);
        let defined = configured.iter().filter_map(|spec| match changes.get(&spec.name) {
            Some(change) => change.apply_to(spec),
            None => Some(EffectiveServer::unchanged(spec.clone())),
        });
        let is_added = |change: &Override| change.added.is_some();
        // Compares names only if servers were added, because a pool may have thousands of servers.
        let names: HashSet<&ServerName> = match changes.values().any(is_added) {
            true => configured.iter().map(|spec| &spec.name).collect(),
            false => HashSet::new(),
        };
        let added = changes.iter().filter(|(name, _)| !names.contains(name));
        let added =
            added.filter_map(|(name, change)| change.added.as_ref().map(|spec| change.added_as(name, spec)));
        defined.chain(added).collect()
    }

    /// Returns one server as it should run. `configured` is its definition in the config. `None` = there is
    /// no such server.
    pub fn effective(
        &self,
        pool: &PoolName,
        server: &ServerName,
        configured: Option<&ServerSpec>,
    ) -> Option<EffectiveServer> {
        match (self.get(pool, server), configured) {
            (Some(change), Some(spec)) => change.apply_to(spec),
            (None, Some(spec)) => Some(EffectiveServer::unchanged(spec.clone())),
            (Some(change), None) => change.added.as_ref().map(|spec| change.added_as(server, spec)),
            (None, None) => None,
        }
    }

    /// Drops changes that no longer apply after a change of the config: changes to servers that are gone, and
    /// additions that the config now contains. Returns a note with the reason for each.
    ///
    /// `configured` returns the servers of a pool, or `None` if there is no such pool.
    pub fn reconcile<'a>(
        &mut self,
        configured: impl Fn(&PoolName) -> Option<&'a [ServerSpec]>,
    ) -> Vec<String> {
        let mut notes = Vec::new();
        for (pool, changes) in &mut self.pool {
            let specs: Option<HashMap<&ServerName, &ServerSpec>> =
                configured(pool).map(|specs| specs.iter().map(|spec| (&spec.name, spec)).collect());
            let added: Vec<ServerSpec> =
                changes.iter().filter_map(|(name, change)| change.added_spec(name)).collect();
            changes.retain(|server, change| {
                let all = specs.iter().flat_map(HashMap::values).copied().chain(&added);
                let spec = specs.as_ref().and_then(|specs| specs.get(server));
                let note = match (&specs, spec, &change.added) {
                    (None, ..) => Some("the config has no such pool any more"),
                    (Some(_), None, None) if is_address_of(server, all) => None,
                    (Some(_), None, None) => Some("the config has no such server any more"),
                    (Some(_), Some(spec), Some(added)) if AddedServer::from(*spec) == *added => {
                        change.added = None;
                        change.is_nothing().then_some("the config now has the server that was added")
                    }
                    _ => None,
                };
                if let Some(note) = note {
                    notes
                        .push(format!("pool {pool}, server {server}: the runtime change is dropped: {note}"));
                }
                note.is_none()
            });
        }
        self.pool.retain(|_, changes| !changes.is_empty());
        notes
    }

    fn change(&mut self, pool: &PoolName, server: &ServerName, act: impl FnOnce(&mut Override)) {
        let changes = self.pool.entry(pool.clone()).or_default();
        let change = changes.entry(server.clone()).or_default();
        act(change);
        if change.is_nothing() {
            changes.remove(server);
        }
        if changes.is_empty() {
            self.pool.remove(pool);
        }
    }
}

impl fmt::Display for Override {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parts = [
            self.added.as_ref().map(|added| format!("added at {}", added.address)),
            self.removed.then(|| "removed".to_owned()),
            self.state.map(|state| state.to_string()),
            self.weight.map(|weight| format!("weight {weight}")),
            self.address.as_ref().map(|address| format!("at {address}")),
        ];
        f.write_str(&parts.into_iter().flatten().collect::<Vec<_>>().join(", "))
    }
}

impl Override {
    fn is_nothing(&self) -> bool {
        *self == Self::default()
    }

    /// Applies the change to a server of the config; returns `None` if the server was removed.
    fn apply_to(&self, configured: &ServerSpec) -> Option<EffectiveServer> {
        if let Some(added) = &self.added {
            return Some(self.added_as(&configured.name, added));
        }
        if self.removed {
            return None;
        }
        let mut server = EffectiveServer::unchanged(configured.clone());
        if let Some(state) = self.state {
            server.state = state;
            server.overridden.push("state");
        }
        if let Some(weight) = self.weight {
            server.spec.weight = weight;
            server.spec.auto_weight = None;
            server.overridden.push("weight");
        }
        if let Some(address) = &self.address {
            server.spec.address = address.clone();
            server.overridden.push("address");
        }
        Some(server)
    }

    /// Returns the definition of the added server.
    fn added_spec(&self, name: &ServerName) -> Option<ServerSpec> {
        Some(self.added_as(name, self.added.as_ref()?).spec)
    }

    fn added_as(&self, name: &ServerName, added: &AddedServer) -> EffectiveServer {
        let AddedServer {
            address,
            weight,
            auto_weight,
            backup,
            priority,
            zone,
            agent_port,
            connections_max,
            fleet,
        } = added.clone();
        let auto_weight = auto_weight.then(KnownSpeeds::default);
        let new = ServerSpec::new(name.clone(), address);
        let spec = ServerSpec {
            weight,
            auto_weight,
            backup,
            priority,
            zone,
            agent_port,
            connections_max,
            fleet,
            ..new
        };
        let state = self.state.unwrap_or_default();
        let overridden = self.state.map(|_| "state").into_iter().collect();
        EffectiveServer { spec, state, origin: Origin::Runtime, overridden, at: None }
    }
}

impl EffectiveServer {
    fn unchanged(spec: ServerSpec) -> Self {
        Self { spec, state: AdminState::Ready, origin: Origin::Config, overridden: Vec::new(), at: None }
    }
}

impl From<&ServerSpec> for AddedServer {
    fn from(spec: &ServerSpec) -> Self {
        let ServerSpec {
            name: _,
            address,
            weight,
            auto_weight,
            backup,
            priority,
            zone,
            agent_port,
            connections_max,
            fleet,
        } = spec.clone();
        let found = Weight::new(AVERAGE_WEIGHT).unwrap_or_default();
        Self {
            address,
            // All servers with automatic weights start with the same weight, whatever the definition says.
            weight: if auto_weight.is_some() { found } else { weight },
            auto_weight: auto_weight.is_some(),
            backup,
            priority,
            zone,
            agent_port,
            connections_max,
            fleet,
        }
    }
}

impl fmt::Display for BadRuntimeState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "not a runtime state: {}", self.0)
    }
}

impl std::error::Error for BadRuntimeState {}
