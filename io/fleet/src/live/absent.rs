//! Servers that serve but are missing from the list of machines. A list may be wrong for some time; an empty
//! list does not prove that no machine exists.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use weir_model::{Name, ServerName};

use super::look::{flavour_of, name_of};
use super::{Health, Member};
use crate::Machine;

/// Members without a machine.
#[derive(Debug, Default)]
pub(super) struct Absent {
    since: HashMap<ServerName, Duration>,
    /// Time of the latest list.
    listed: Duration,
    /// Flavour of each member in the last list that named it.
    flavours: HashMap<ServerName, Name>,
    /// Number of serving members in the latest list.
    serving: usize,
    /// Number of servers wanted last; `None` = no decision yet.
    wanted: Option<u32>,
}

/// Time after which a missing server is replaced although its health checks pass. More than one list must
/// omit it.
const BELIEVED_AFTER: Duration = Duration::from_secs(10);

/// Decision about a member that the list does not name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    /// The server serves and the list may be wrong, so nothing changes.
    Kept,
    /// The server no longer counts as capacity, but serves until replacements run.
    Replaced,
    /// The server is removed.
    Gone,
}

impl Absent {
    /// Compares a list with the members.
    pub(super) fn look(&mut self, now: Duration, machines: &[Machine], members: &[Member]) {
        self.listed = now;
        let listed: HashSet<ServerName> = machines.iter().filter_map(name_of).collect();
        let (here, absent): (Vec<&Member>, Vec<&Member>) =
            members.iter().partition(|member| listed.contains(&member.server));
        self.serving = here.into_iter().filter(|member| serves(member)).count();
        let absent: HashSet<&ServerName> = absent.into_iter().map(|member| &member.server).collect();
        self.since.retain(|server, _| absent.contains(server));
        let told = |machine: &Machine| Some((name_of(machine)?, flavour_of(machine)?));
        let mut flavours: HashMap<ServerName, Name> = machines.iter().filter_map(told).collect();
        for server in &absent {
            if let Some(flavour) = self.flavours.remove(*server) {
                flavours.insert((*server).clone(), flavour);
            }
        }
        self.flavours = flavours;
        for server in absent {
            self.since.entry(server.clone()).or_insert(now);
        }
    }

    /// Records the wanted number of servers.
    pub(super) fn decided(&mut self, wanted: u32) {
        self.wanted = Some(wanted);
    }

    /// Returns the flavour of a member in the last list that named it.
    pub(super) fn flavour(&self, server: &ServerName) -> Option<Name> {
        self.flavours.get(server).cloned()
    }

    /// Returns the decision about a member; `None` = the list names it.
    pub(super) fn verdict(&self, member: &Member) -> Option<Verdict> {
        let since = *self.since.get(&member.server)?;
        let now = self.listed;
        Some(if !serves(member) {
            Verdict::Gone
        } else if now.saturating_sub(since) < BELIEVED_AFTER || since == now {
            Verdict::Kept
        } else if self.wanted.is_none_or(|wanted| self.serving < wanted as usize) {
            Verdict::Replaced
        } else {
            Verdict::Gone
        })
    }
}

/// Returns true if the server gets requests and passes its health checks.
fn serves(member: &Member) -> bool {
    !member.draining && matches!(member.health, Health::Up(_))
}
