//! Registry of server names and their addresses.

use std::collections::{BTreeSet, HashMap};
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;
use weir_control::{EffectiveServer, ServerSpec};
use weir_model::{PoolName, ServerAddress};

use super::Answer;
use super::missing::Missing;
use crate::control::task::Task;
use crate::state::Endpoint;

/// Names of all servers, with their addresses.
#[derive(Debug, Default)]
pub(in crate::control) struct NameBook {
    entries: HashMap<Arc<str>, NameEntry>,
    /// Answers for names that a reload is about to add.
    expected: HashMap<Arc<str>, Answer>,
    /// Names whose last server has left; a new server may take them at once.
    left: Vec<Arc<str>>,
}

/// One name.
#[derive(Debug, Default)]
pub(in crate::control) struct NameEntry {
    answer: Answer,
    /// Addresses in use that the latest DNS answers lack.
    missing: Missing,
    /// Set when at least one lookup has ended.
    was_asked: bool,
    /// Servers with this name, by uid.
    users: HashMap<u64, NameUser>,
    /// Task that looks up the name periodically; `None` = not started yet.
    pub(in crate::control) task: Option<Task>,
}

/// A server that has the name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::control) struct NameUser {
    pub(in crate::control) pool: PoolName,
    pub(in crate::control) slot: usize,
    port: u16,
    /// The only address of the server, if it stands for one address of the name. Such a server does not move.
    ip: Option<IpAddr>,
}

/// Changes that an answer causes.
#[derive(Debug, Default)]
pub(in crate::control) struct Learned {
    /// Servers with a new address.
    pub(in crate::control) moved: Vec<(u64, NameUser, Endpoint)>,
    /// Pools whose set of servers may change.
    pub(in crate::control) pools: BTreeSet<PoolName>,
    /// Maximum wait before the next lookup of the name.
    pub(in crate::control) ask_within: Option<Duration>,
}

impl NameBook {
    /// Returns the endpoint of `address`. Registers a name for periodic lookup until [`NameBook::leave`].
    pub(in crate::control) fn enter(
        &mut self,
        address: &ServerAddress,
        uid: u64,
        user: &NameUser,
    ) -> Endpoint {
        match address {
            ServerAddress::Inet(address) => Endpoint::Inet(vec![*address]),
            ServerAddress::Unix(path) => Endpoint::Unix(path.clone()),
            ServerAddress::Named(host) => {
                let entry = self.entries.entry(Arc::clone(&host.host)).or_insert_with(|| NameEntry {
                    answer: self.expected.get(&host.host).cloned().unwrap_or_default(),
                    ..NameEntry::default()
                });
                entry.users.insert(uid, user.clone());
                user.endpoint(&entry.answer)
            }
        }
    }

    /// Stores answers for names that a reload is about to add.
    pub(in crate::control) fn expect(&mut self, answers: HashMap<Arc<str>, Answer>) {
        self.expected = answers;
    }

    /// Records that the server `uid` no longer uses `address`. The name stays until
    /// [`NameBook::forget_unused`].
    pub(in crate::control) fn leave(&mut self, address: &ServerAddress, uid: u64) {
        let ServerAddress::Named(host) = address else { return };
        if let Some(entry) = self.entries.get_mut(&host.host) {
            entry.users.remove(&uid);
            if entry.users.is_empty() {
                self.left.push(Arc::clone(&host.host));
            }
        }
    }

    /// Removes names that no server uses any more, which ends their lookups.
    pub(in crate::control) fn forget_unused(&mut self) {
        for host in self.left.drain(..) {
            if self.entries.get(&host).is_some_and(|entry| entry.users.is_empty()) {
                self.entries.remove(&host);
            }
        }
    }

    /// Stores the answer for `host`. A failed lookup (`None`) keeps the known addresses. An address that the
    /// answer lacks stays in use for `hold`.
    pub(in crate::control) fn learn(
        &mut self,
        host: &str,
        found: Option<Answer>,
        hold: Duration,
        now: Instant,
    ) -> Learned {
        let Some(entry) = self.entries.get_mut(host) else { return Learned::default() };
        entry.was_asked = true;
        let Some(found) = found else { return Learned::default() };
        let found = entry.missing.complete(found, &entry.answer, hold, now);
        let ask_within = entry.missing.due(hold, now);
        if found == entry.answer {
            return Learned { ask_within, ..Learned::default() };
        }
        entry.answer = found;
        let moves = |(_, user): &(&u64, &NameUser)| user.ip.is_none();
        let told = |(uid, user): (&u64, &NameUser)| (*uid, user.clone(), user.endpoint(&entry.answer));
        let pools = entry.users.values().map(|user| user.pool.clone());
        Learned {
            moved: entry.users.iter().filter(moves).map(told).collect(),
            pools: pools.collect(),
            ask_within,
        }
    }

    /// Returns the addresses of `server` that are servers of their own; empty if it is one server.
    /// `is_changed` returns true if an operator changed one address alone. Such a change applies to that
    /// address only, even if it is the only one.
    pub(in crate::control) fn servers_of(
        &self,
        server: &ServerSpec,
        is_changed: impl Fn(IpAddr) -> bool,
    ) -> Vec<IpAddr> {
        // A fleet counts its servers, and each of them is one machine.
        let ServerAddress::Named(host) = &server.address else { return Vec::new() };
        let known = self.answer(&host.host).or_else(|| self.expected.get(&host.host));
        let known = known.filter(|known| known.is_several() || known.all().any(is_changed));
        known.filter(|_| server.fleet.is_none()).map(|known| known.all().collect()).unwrap_or_default()
    }

    /// Returns the last answer for a registered name.
    pub(in crate::control) fn answer(&self, host: &str) -> Option<&Answer> {
        self.entries.get(host).map(|entry| &entry.answer)
    }

    /// Returns true if a lookup of every name has ended at least once.
    pub(in crate::control) fn all_were_asked(&self) -> bool {
        self.entries.values().all(|entry| entry.was_asked)
    }

    /// Returns names that have no lookup task yet.
    pub(in crate::control) fn without_task(&mut self) -> impl Iterator<Item = (&Arc<str>, &mut NameEntry)> {
        self.entries.iter_mut().filter(|(_, entry)| entry.task.is_none())
    }

    /// Stops all lookup tasks, so that they start again, for instance with other DNS servers.
    pub(in crate::control) fn stop_asking(&mut self) {
        for entry in self.entries.values_mut() {
            entry.task = None;
        }
    }
}

impl NameUser {
    pub(in crate::control) fn new(pool: &PoolName, slot: usize, server: &EffectiveServer) -> Self {
        let port = match &server.spec.address {
            ServerAddress::Named(host) => host.port,
            ServerAddress::Inet(address) => address.port(),
            ServerAddress::Unix(_) => 0,
        };
        Self { pool: pool.clone(), slot, port, ip: server.at.as_ref().map(|at| at.ip) }
    }

    fn endpoint(&self, answer: &Answer) -> Endpoint {
        let at = |ip: IpAddr| SocketAddr::new(ip, self.port);
        if let Some(ip) = self.ip {
            return Endpoint::Inet(vec![at(ip)]);
        }
        match answer.is_empty() {
            true => Endpoint::Unresolved,
            false => Endpoint::Inet(answer.addresses().map(at).collect()),
        }
    }
}
