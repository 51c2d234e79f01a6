//! Servers that a list of machines leaves out although they serve. A list may be wrong for a moment, or for longer: an empty one is
//! no proof that nobody is there.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use weir_model::{Name, ServerName};

use super::look::{flavour_of, name_of};
use super::{Health, Member};
use crate::Machine;

/// Members without a machine, since when.
#[derive(Debug, Default)]
pub(super) struct Absent {
    since: HashMap<ServerName, Duration>,
    /// Time of the latest list.
    listed: Duration,
    /// What a list said last of each size.
    flavours: HashMap<ServerName, Name>,
    /// So many servers that a list names serve.
    serving: usize,
    /// So many were wanted last; `None` = nothing was decided yet.
    wanted: Option<u32>,
}

/// Whoever is missing for longer is replaced, although its checks pass. More than one list has to say so.
const BELIEVED_AFTER: Duration = Duration::from_secs(10);

/// What is to become of a member that a list does not name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    /// It serves, and the list may be wrong: nothing changes.
    Kept,
    /// It is not counted on any more, and goes on serving until there are others.
    Replaced,
    /// It is let go.
    Gone,
}

impl Absent {
    /// Notes what a list says of the members.
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

    /// So many servers are wanted.
    pub(super) fn decided(&mut self, wanted: u32) {
        self.wanted = Some(wanted);
    }

    /// The size of a member, as a list that named it has told it last.
    pub(super) fn flavour(&self, server: &ServerName) -> Option<Name> {
        self.flavours.get(server).cloned()
    }

    /// Of a member; `None` = a list names it.
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

/// It gets requests, and its checks pass.
fn serves(member: &Member) -> bool {
    !member.draining && matches!(member.health, Health::Up(_))
}
