use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use weir_model::{PoolName, ServerAddress};

use super::Answer;
use crate::control::task::Task;
use crate::state::Endpoint;

/// The names of all servers, and what they mean.
#[derive(Debug, Default)]
pub(in crate::control) struct NameBook {
    entries: HashMap<Arc<str>, NameEntry>,
    /// For names that are about to come.
    expected: HashMap<Arc<str>, Answer>,
}

/// One name.
#[derive(Debug, Default)]
pub(in crate::control) struct NameEntry {
    answer: Answer,
    /// It has been asked for at least once.
    was_asked: bool,
    /// By the server's uid.
    users: HashMap<u64, NameUser>,
    /// Asks for it again and again; `None` = not started yet.
    pub(in crate::control) task: Option<Task>,
}

/// A server that has the name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::control) struct NameUser {
    pub(in crate::control) pool: PoolName,
    pub(in crate::control) slot: usize,
    port: u16,
}

impl NameBook {
    /// Where `address` is. A name is looked after from now on, until [`NameBook::leave`].
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

    /// What names mean that are about to come.
    pub(in crate::control) fn expect(&mut self, answers: HashMap<Arc<str>, Answer>) {
        self.expected = answers;
    }

    /// The server of this uid is no longer at `address`.
    pub(in crate::control) fn leave(&mut self, address: &ServerAddress, uid: u64) {
        let ServerAddress::Named(host) = address else { return };
        if let Some(entry) = self.entries.get_mut(&host.host) {
            entry.users.remove(&uid);
            if entry.users.is_empty() {
                self.entries.remove(&host.host);
            }
        }
    }

    /// What was found for `host`; an attempt that found nothing leaves what was known. Returns who has to be told where
    /// they are now.
    pub(in crate::control) fn learn(
        &mut self,
        host: &str,
        found: Option<Answer>,
    ) -> Vec<(u64, NameUser, Endpoint)> {
        let Some(entry) = self.entries.get_mut(host) else { return Vec::new() };
        entry.was_asked = true;
        let Some(found) = found.filter(|found| *found != entry.answer) else { return Vec::new() };
        entry.answer = found;
        let told = |(uid, user): (&u64, &NameUser)| (*uid, user.clone(), user.endpoint(&entry.answer));
        entry.users.iter().map(told).collect()
    }

    /// The last answer for a name that is looked after.
    pub(in crate::control) fn answer(&self, host: &str) -> Option<&Answer> {
        self.entries.get(host).map(|entry| &entry.answer)
    }

    /// Whether every name has been asked for at least once.
    pub(in crate::control) fn all_were_asked(&self) -> bool {
        self.entries.values().all(|entry| entry.was_asked)
    }

    /// Names that nobody asks for yet.
    pub(in crate::control) fn without_task(&mut self) -> impl Iterator<Item = (&Arc<str>, &mut NameEntry)> {
        self.entries.iter_mut().filter(|(_, entry)| entry.task.is_none())
    }

    /// Has every name asked for anew, for instance because other DNS servers are to be asked.
    pub(in crate::control) fn stop_asking(&mut self) {
        for entry in self.entries.values_mut() {
            entry.task = None;
        }
    }
}

impl NameUser {
    pub(in crate::control) fn new(pool: &PoolName, slot: usize, address: &ServerAddress) -> Self {
        let port = match address {
            ServerAddress::Named(host) => host.port,
            ServerAddress::Inet(address) => address.port(),
            ServerAddress::Unix(_) => 0,
        };
        Self { pool: pool.clone(), slot, port }
    }

    fn endpoint(&self, answer: &Answer) -> Endpoint {
        let at = |ip: IpAddr| SocketAddr::new(ip, self.port);
        match answer.is_empty() {
            true => Endpoint::Unresolved,
            false => Endpoint::Inet(answer.addresses().map(at).collect()),
        }
    }
}
