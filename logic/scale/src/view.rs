//! Assessment of a fleet: the capacity of its servers, and the servers to replace.

use std::time::Duration;

use crate::capacity::Capacities;
use crate::decision::Fleet;
use crate::rules::Rules;
use crate::server::{Server, ServerState};

/// Input of the assessment.
#[derive(Clone, Copy)]
pub(crate) struct View<'v> {
    pub(crate) rules: &'v Rules,
    pub(crate) capacities: &'v Capacities,
    pub(crate) servers: &'v [Server],
    pub(crate) now: Duration,
    /// Expected time from the creation of a server to its first request.
    pub(crate) start_up: Duration,
    /// Failed starts in a row.
    pub(crate) failed_starts: u32,
}

/// Maximum patience with an overdue server, in start-up times. Patience grows with each failed start: if
/// starts take longer than expected, servers must not be deleted just before they are ready.
const OVERDUE_LOST: u32 = 10;
/// Minimum delay after which a server is overdue.
const OVERDUE_MIN: Duration = Duration::from_secs(30);

impl View<'_> {
    /// Counts the fleet by capacity. A healthy server counts with its present capacity, a starting one with
    /// its future capacity.
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

    /// Returns the present capacity of a server, and the capacity that it will add.
    pub(crate) fn does(&self, server: &Server) -> (f64, f64) {
        match server.state {
            ServerState::Active => (self.units(server), 0.0),
            ServerState::Warming { share, .. } => {
                let (units, share) = (self.units(server), share.clamp(0.0, 1.0));
                // If its share does not rise in time, the server keeps its present capacity.
                let later = if self.is_coming(server) { units * (1.0 - share) } else { 0.0 };
                (units * share, later)
            }
            // A server that is shunned for long has no capacity, but is never replaced.
            ServerState::Unhealthy { since } | ServerState::Shunned { since } if !self.is_lost(since) => {
                (0.0, self.units(server))
            }
            _ if self.is_coming(server) => (0.0, self.units(server)),
            _ => (0.0, 0.0),
        }
    }

    /// Returns true if the server is starting and not overdue.
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

    /// Returns true if the server will not recover.
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

    /// Returns the time that a server may be overdue before it is deleted: `replace_after`, doubled with each
    /// failed start.
    fn patience(&self) -> Duration {
        let first = self.rules.replace_after;
        let doubled = first.saturating_mul(1_u32.checked_shl(self.failed_starts).unwrap_or(u32::MAX));
        doubled.min(self.grace().saturating_mul(OVERDUE_LOST)).max(first)
    }

    /// Returns the capacity of the overdue servers that are still awaited.
    pub(crate) fn overdue(&self) -> f64 {
        let waited_for =
            self.servers.iter().filter(|one| self.is_overdue(one) && !self.is_to_be_replaced(one));
        waited_for.map(|server| self.units(server)).sum()
    }
}
