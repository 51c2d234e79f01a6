//! Actions that lead from the present fleet to the wanted number of servers.

use std::time::Duration;

use weir_model::ServerName;

use crate::choice::{Leaver, place};
use crate::decision::{Action, Alarm, Fleet, Successor};
use crate::server::{Server, ServerState};
use crate::view::View;

/// Actions, and alarms about what prevents them.
#[derive(Debug, Default)]
pub(crate) struct Plan {
    pub(crate) actions: Vec<Action>,
    pub(crate) alarms: Vec<Alarm>,
}

/// Tolerance for rounding errors, so that they create no server.
const EPSILON: f64 = 1e-6;

impl View<'_> {
    /// Plans the actions from the present fleet to one with the capacity of `wanted` servers of the standard
    /// kind.
    pub(crate) fn plan(&self, fleet: &Fleet, wanted: u32, may_shrink: bool) -> Plan {
        let mut planner = Planner::new(self, fleet, wanted, may_shrink);
        planner.recall();
        planner.spare_the_overdue(fleet);
        planner.replace();
        planner.wake();
        planner.create();
        planner.let_go();
        planner.clear_away();
        planner.stand_by();
        planner.finish()
    }
}

/// Collects actions by kind.
struct Planner<'v> {
    view: &'v View<'v>,
    may_shrink: bool,
    wanted: u32,
    /// Missing capacity in servers of the standard kind; negative = surplus.
    missing: f64,
    healthy: f64,
    /// Servers that run and stay.
    serving: u32,
    /// Number of servers that may still be created.
    room: u32,
    /// Servers that are stopped, or will be.
    standing_by: u32,
    sleepers: Vec<&'v Server>,
    back: Vec<ServerName>,
    wake: Vec<ServerName>,
    create: u32,
    prepare: u32,
    drain: Vec<ServerName>,
    stop: Vec<(ServerName, u64)>,
    delete: Vec<(ServerName, u64)>,
    replace: Vec<Action>,
    alarms: Vec<Alarm>,
}

impl<'v> Planner<'v> {
    fn new(view: &'v View<'v>, fleet: &Fleet, wanted: u32, may_shrink: bool) -> Self {
        let states = || view.servers.iter().map(|server| server.state);
        let mut sleepers: Vec<&Server> =
            view.servers.iter().filter(|server| server.state == ServerState::Stopped).collect();
        // Cheapest first; among equals, the newest first.
        sleepers.sort_by(|a, b| a.cost_per_hour.total_cmp(&b.cost_per_hour).then(b.created.cmp(&a.created)));
        let serving = view.servers.iter().filter(|server| match server.state {
            ServerState::Active | ServerState::Warming { .. } | ServerState::Shunned { .. } => true,
            ServerState::Unhealthy { .. } => !view.is_to_be_replaced(server),
            state => state.ready().is_some() && !view.is_to_be_replaced(server),
        });
        let standing_by = states().filter(|state| {
            matches!(
                state,
                ServerState::Stopped
                    | ServerState::Stopping
                    | ServerState::Creating { for_standby: true, .. }
            )
        });
        Self {
            view,
            may_shrink,
            wanted,
            missing: f64::from(wanted) - fleet.healthy - fleet.coming,
            healthy: fleet.healthy,
            serving: serving.count() as u32,
            room: view.rules.bounds.quota.map_or(u32::MAX, |quota| quota.saturating_sub(fleet.servers)),
            standing_by: standing_by.count() as u32,
            sleepers,
            back: Vec::new(),
            wake: Vec::new(),
            create: 0,
            prepare: 0,
            drain: Vec::new(),
            stop: Vec::new(),
            delete: Vec::new(),
            replace: Vec::new(),
            alarms: Vec::new(),
        }
    }

    /// Recalls draining servers first, because they run and are warm.
    fn recall(&mut self) {
        let mut draining: Vec<(Duration, &Server)> = self
            .view
            .servers
            .iter()
            .filter_map(|server| match server.state {
                ServerState::Draining { since } => Some((since, server)),
                _ => None,
            })
            .collect();
        // The server that began to drain last has the most connections left.
        draining.sort_by(|a, b| b.0.cmp(&a.0).then_with(|| a.1.name.cmp(&b.1.name)));
        if self.view.rules.leaver == Leaver::Last {
            // The other servers can be removed only after the last one.
            draining.sort_by(|a, b| place(a.1).cmp(&place(b.1)));
        }
        for (_, server) in draining {
            if !self.is_missing() || !self.may_serve_one_more() {
                return;
            }
            self.add(server);
            self.healthy += self.view.units(server);
            self.back.push(server.name.clone());
        }
    }

    /// Limits the successors of overdue servers: an overdue server gets at most one successor, and the
    /// successor gets none while both are awaited. Servers that never start must not accumulate up to the
    /// fleet's `max`.
    fn spare_the_overdue(&mut self, fleet: &Fleet) {
        let open = f64::from(self.wanted) - self.healthy;
        if open > 0.0 {
            let free = 2.0 * open - fleet.coming - self.view.overdue();
            self.missing = self.missing.min(free);
        }
    }

    /// Replaces servers that stay unhealthy. Limits the number of servers replaced at once if they have
    /// served: if most of them fail, the servers are hardly the cause.
    fn replace(&mut self) {
        let coming = self.view.servers.iter().filter(|server| self.view.is_coming(server)).count();
        let mut left = (self.wanted as usize / 3).max(1).saturating_sub(coming);
        let lost = self.view.servers.iter().filter(|server| self.view.is_to_be_replaced(server));
        for server in lost {
            let has_served = matches!(server.state, ServerState::Unhealthy { .. });
            if has_served && left == 0 {
                // A later round replaces it; until then it gets no successor.
                self.add(server);
                continue;
            }
            left = left.saturating_sub(usize::from(has_served));
            let (by, delete_first) = match self.successor() {
                Some(found) => found,
                // There is no successor, and the server may still recover.
                None if has_served && self.is_missing() => continue,
                None if has_served && !self.may_shrink => continue,
                None => (Successor::Nobody, false),
            };
            let (name, cut) = (server.name.clone(), server.active);
            self.replace.push(Action::Replace { server: name, by, delete_first, cut });
        }
    }

    /// Returns the successor of a server, and true if the server must be deleted first.
    fn successor(&mut self) -> Option<(Successor, bool)> {
        if !self.is_missing() || !self.may_serve_one_more() {
            return None;
        }
        if !self.sleepers.is_empty() {
            let sleeper = self.sleepers.remove(0);
            self.add(sleeper);
            self.standing_by = self.standing_by.saturating_sub(1);
            return Some((Successor::Woken(sleeper.name.clone()), false));
        }
        self.missing -= 1.0;
        self.serving += 1;
        let delete_first = self.room == 0;
        self.room = self.room.saturating_sub(1);
        Some((Successor::Created(self.view.rules.capacity.flavour.clone()), delete_first))
    }

    fn wake(&mut self) {
        while self.is_missing() && self.may_serve_one_more() && !self.sleepers.is_empty() {
            let sleeper = self.sleepers.remove(0);
            self.add(sleeper);
            self.standing_by = self.standing_by.saturating_sub(1);
            self.wake.push(sleeper.name.clone());
        }
    }

    fn create(&mut self) {
        while self.is_missing() && self.may_serve_one_more() && self.room > 0 {
            self.missing -= 1.0;
            self.serving += 1;
            self.room -= 1;
            self.create += 1;
        }
        if self.is_missing() && self.room == 0 {
            self.alarms.push(Alarm::Bounded {
                wanted: self.wanted,
                most: self.wanted.saturating_sub((self.missing - EPSILON).ceil() as u32),
            });
        }
    }

    /// Removes surplus servers in this order: unhealthy ones, starting ones, healthy ones.
    fn let_go(&mut self) {
        if !self.may_shrink || self.is_missing() {
            return;
        }
        let view = self.view;
        if view.rules.leaver == Leaver::Last {
            return self.let_last_go();
        }
        let ill = view.servers.iter().filter(|server| match server.state {
            ServerState::Unhealthy { since } => !view.is_lost(since),
            ServerState::Shunned { .. } => true,
            _ => false,
        });
        for server in ill {
            // An unhealthy server has no capacity, but goes only if it would be surplus after its recovery.
            if self.can_spare(view.units(server)) {
                self.take_away(view.does(server).1);
                self.drain.push(server.name.clone());
            }
        }
        let is_on_its_way = |state: ServerState| {
            matches!(state, ServerState::Creating { for_standby: false, .. } | ServerState::Booting { .. })
        };
        let mut coming: Vec<&Server> = view
            .servers
            .iter()
            .filter(|server| is_on_its_way(server.state) && !view.is_to_be_replaced(server))
            .collect();
        coming.sort_by(|a, b| b.state.ready().cmp(&a.state.ready()).then_with(|| a.name.cmp(&b.name)));
        for server in coming {
            let (_, later) = view.does(server);
            // A late server may still start, so it goes only when the wanted capacity is healthy.
            let is_awaited = !view.is_coming(server) && self.healthy < f64::from(self.wanted) - EPSILON;
            if self.can_spare(later) && !is_awaited {
                self.take_away(later);
                // A server that did not start in time would not start in time again.
                let can_be_kept =
                    matches!(server.state, ServerState::Booting { .. }) && view.is_coming(server);
                self.put_away(server, 0, can_be_kept);
            }
        }
        let mut healthy: Vec<&Server> = view
            .servers
            .iter()
            .filter(|server| matches!(server.state, ServerState::Active | ServerState::Warming { .. }))
            .collect();
        if !self.can_spare_any() {
            return;
        }
        view.rules.leaver.order(&mut healthy);
        for server in healthy {
            let (now, later) = view.does(server);
            // The remaining servers must have the capacity now.
            if self.can_spare(now + later) && self.healthy - now >= f64::from(self.wanted) - EPSILON {
                self.healthy -= now;
                self.take_away(now + later);
                self.drain.push(server.name.clone());
            }
        }
    }

    /// Removes servers from the last one on while each is surplus. A server that must stay also keeps all
    /// servers before it.
    fn let_last_go(&mut self) {
        let view = self.view;
        let mut servers: Vec<&Server> = view.servers.iter().collect();
        view.rules.leaver.order(&mut servers);
        for server in servers {
            let (now, later) = view.does(server);
            let can_go = match server.state {
                ServerState::Draining { .. } | ServerState::Deleting | ServerState::Failed => continue,
                _ if view.is_to_be_replaced(server) => false,
                ServerState::Active | ServerState::Warming { .. } => {
                    self.can_spare(now + later) && self.healthy - now >= f64::from(self.wanted) - EPSILON
                }
                ServerState::Unhealthy { .. } | ServerState::Shunned { .. } => {
                    self.can_spare(view.units(server))
                }
                // The load balancer does not know this server, so it need not drain.
                _ => self.can_spare(later) && self.is_last(server),
            };
            if !can_go {
                return;
            }
            self.healthy -= now;
            self.take_away(now + later);
            if matches!(server.state, ServerState::Creating { .. } | ServerState::Booting { .. }) {
                self.put_away(server, 0, false);
            } else {
                self.drain.push(server.name.clone());
            }
        }
    }

    /// Returns true if a server may be removed: with [`Leaver::Last`], only if all servers after it are also
    /// removed.
    fn is_last(&self, server: &Server) -> bool {
        self.view.rules.leaver != Leaver::Last
            || self.view.servers.iter().all(|other| {
                place(other) <= place(server)
                    || other.state == ServerState::Deleting
                    || self.delete.iter().any(|(name, _)| *name == other.name)
            })
    }

    /// Stops or deletes drained and failed servers.
    fn clear_away(&mut self) {
        let mut servers: Vec<&Server> = self.view.servers.iter().collect();
        if self.view.rules.leaver == Leaver::Last {
            self.view.rules.leaver.order(&mut servers);
        }
        for server in servers {
            match server.state {
                ServerState::Draining { since } if !self.back.contains(&server.name) => {
                    let is_over = self.view.now.saturating_sub(since) >= self.view.rules.drain_deadline;
                    if (server.active == 0 || is_over) && self.is_last(server) {
                        self.put_away(server, server.active, true);
                    }
                }
                ServerState::Failed => self.delete.push((server.name.clone(), 0)),
                _ => {}
            }
        }
        let failed = self.view.servers.iter().filter(|server| server.state == ServerState::Failed).count();
        let overdue = self.view.servers.iter().filter(|server| self.view.is_overdue(server)).count();
        if failed > 0 {
            self.alarms.push(Alarm::Failed(failed as u32));
        }
        if overdue > 0 {
            self.alarms.push(Alarm::Overdue(overdue as u32));
        }
    }

    /// Keeps as many stopped servers as the rules require.
    fn stand_by(&mut self) {
        let standby = self.view.rules.standby;
        while self.may_shrink && self.standing_by > standby.keep {
            // The list is sorted by price and age: the most expensive and oldest servers at its end go first.
            let Some(sleeper) = self.sleepers.pop() else { break };
            self.standing_by -= 1;
            self.delete.push((sleeper.name.clone(), 0));
        }
        let short = standby.prepare.min(standby.keep).saturating_sub(self.standing_by);
        if !self.is_missing() {
            self.prepare = short.min(self.room);
        }
    }

    fn finish(self) -> Plan {
        let flavour = &self.view.rules.capacity.flavour;
        let create = |count, for_standby| {
            (count > 0).then(|| Action::Create { count, flavour: flavour.clone(), zone: None, for_standby })
        };
        let mut actions = Vec::new();
        actions.extend(self.back.into_iter().map(|server| Action::Recall { server }));
        actions.extend(self.wake.into_iter().map(|server| Action::Wake { server }));
        actions.extend(create(self.create, false));
        actions.extend(self.drain.into_iter().map(|server| Action::Drain { server }));
        actions.extend(self.stop.into_iter().map(|(server, cut)| Action::Stop { server, cut }));
        actions.extend(self.delete.into_iter().map(|(server, cut)| Action::Delete { server, cut }));
        actions.extend(self.replace);
        actions.extend(create(self.prepare, true));
        Plan { actions, alarms: self.alarms }
    }

    fn is_missing(&self) -> bool {
        self.missing > EPSILON
    }

    fn may_serve_one_more(&self) -> bool {
        self.serving < self.view.rules.bounds.max
    }

    fn add(&mut self, server: &Server) {
        self.missing -= self.view.units(server);
        self.serving += 1;
    }

    fn can_spare_any(&self) -> bool {
        self.missing < -EPSILON && self.serving > self.view.rules.bounds.min
    }

    fn can_spare(&self, units: f64) -> bool {
        self.missing + units <= EPSILON && self.serving > self.view.rules.bounds.min
    }

    fn take_away(&mut self, units: f64) {
        self.missing += units;
        self.serving = self.serving.saturating_sub(1);
    }

    fn put_away(&mut self, server: &Server, cut: u64, can_be_kept: bool) {
        if can_be_kept && self.standing_by < self.view.rules.standby.keep {
            self.standing_by += 1;
            self.stop.push((server.name.clone(), cut));
        } else {
            self.delete.push((server.name.clone(), cut));
        }
    }
}
