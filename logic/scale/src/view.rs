//! A fleet as it is judged: what its servers can do, and which of them are lost.

use std::time::Duration;

use crate::capacity::Capacities;
use crate::decision::Fleet;
use crate::rules::Rules;
use crate::server::{Server, ServerState};

/// What is to be judged.
#[derive(Clone, Copy)]
pub(crate) struct View<'v> {
    pub(crate) rules: &'v Rules,
    pub(crate) capacities: &'v Capacities,
    pub(crate) servers: &'v [Server],
    pub(crate) now: Duration,
    /// How long a new server takes until it gets requests.
    pub(crate) start_up: Duration,
    /// Starts in a row that came to nothing.
    pub(crate) failed_starts: u32,
}

/// The longest patience with a server that is overdue, in times of what it should take to start. Patience grows with each start
/// that came to nothing: where starts take longer than expected, servers must not be deleted just before they are ready.
const OVERDUE_LOST: u32 = 10;
/// Nothing is overdue sooner than this behind its time.
const OVERDUE_MIN: Duration = Duration::from_secs(30);

impl View<'_> {
    /// Counts the fleet by what it can do. A server counts when it is healthy, or for what it will be when it is on its way.
    pub(crate) fn count(&self) -> Fleet {
        let mut fleet = Fleet { servers: self.servers.len() as u32, ..Fleet::default() };
        for server in self.servers {
            let (now, later) = self.does(server);
            fleet.healthy += now;
            fleet.coming += later;
            match server.state {
                ServerState::Active | ServerState::Warming { .. } => fleet.healthy_servers += 1,
                state if state.ready().is_some() => fleet.coming_servers += 1,
                ServerState::Draining { .. } => fleet.draining_servers += 1,
                ServerState::Stopped => fleet.stopped_servers += 1,
                _ => {}
            }
        }
        fleet
    }

    pub(crate) fn units(&self, server: &Server) -> f64 {
        self.capacities.of(server.flavour.as_ref())
    }

    /// What a server can do now, and what it will do besides.
    pub(crate) fn does(&self, server: &Server) -> (f64, f64) {
        match server.state {
            ServerState::Active => (self.units(server), 0.0),
            ServerState::Warming { share, .. } => {
                let (units, share) = (self.units(server), share.clamp(0.0, 1.0));
                // One that does not rise takes no more than it does now.
                let later = if self.is_coming(server) { units * (1.0 - share) } else { 0.0 };
                (units * share, later)
            }
            // One that is shunned for long is no capacity, but never lost either.
            ServerState::Unhealthy { since } | ServerState::Shunned { since } if !self.is_lost(since) => {
                (0.0, self.units(server))
            }
            _ if self.is_coming(server) => (0.0, self.units(server)),
            _ => (0.0, 0.0),
        }
    }

    /// On its way, and not overdue.
    pub(crate) fn is_coming(&self, server: &Server) -> bool {
        server.state.ready().is_some_and(|ready| self.now <= ready.saturating_add(self.grace()))
    }

    pub(crate) fn is_overdue(&self, server: &Server) -> bool {
        !matches!(server.state, ServerState::Warming { .. })
            && server.state.ready().is_some()
            && !self.is_coming(server)
    }

    fn grace(&self) -> Duration {
        self.start_up.max(OVERDUE_MIN)
    }

    pub(crate) fn is_lost(&self, since: Duration) -> bool {
        self.now.saturating_sub(since) >= self.rules.replace_after
    }

    /// It will not get well any more.
    pub(crate) fn is_to_be_replaced(&self, server: &Server) -> bool {
        match server.state {
            ServerState::Unhealthy { since } => self.is_lost(since),
            _ => {
                let patience = self.grace().saturating_add(self.patience());
                self.is_overdue(server)
                    && server.state.ready().is_some_and(|ready| self.now > ready.saturating_add(patience))
            }
        }
    }

    /// How long a server may be overdue before it is deleted: `replace_after`, twice that after a start that came to nothing,
    /// and so on.
    fn patience(&self) -> Duration {
        let first = self.rules.replace_after;
        let doubled = first.saturating_mul(1_u32.checked_shl(self.failed_starts).unwrap_or(u32::MAX));
        doubled.min(self.grace().saturating_mul(OVERDUE_LOST)).max(first)
    }

    /// What servers would do that are overdue, and not given up yet.
    pub(crate) fn overdue(&self) -> f64 {
        let waited_for =
            self.servers.iter().filter(|one| self.is_overdue(one) && !self.is_to_be_replaced(one));
        waited_for.map(|server| self.units(server)).sum()
    }
}
