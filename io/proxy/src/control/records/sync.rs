//! Updates the servers of a pool, at the start, at a reload and at each command.

use std::collections::{HashMap, HashSet};
use std::net::SocketAddr;

use tokio::time::Instant;
use weir_config::plan::{CheckPlan, PoolPlan};
use weir_control::{AdminState, EffectiveServer};
use weir_health::InitialState;
use weir_model::ServerName;

use super::{HealthRecord, PoolRecord, ServerRecord, address_of};
use crate::control::names::{NameBook, NameUser};
use crate::control::parts::{Change, PoolTls};

/// Context of a change, besides the pool.
pub(in crate::control) struct Ground<'a> {
    pub(in crate::control) names: &'a mut NameBook,
    /// Number of threads that count, one counter shard each.
    pub(in crate::control) threads: usize,
    pub(in crate::control) now: Instant,
}

/// State of a server before its first check.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Standing {
    /// State as the plan says.
    AsPlanned,
    /// Down, whatever the plan says.
    Unproven,
}

impl Standing {
    /// Returns the initial check, if it differs from the plan.
    fn check(self, plan: &PoolPlan) -> Option<CheckPlan> {
        let mut check = plan.check.as_ref().filter(|_| self == Self::Unproven)?.clone();
        check.timing.initial = InitialState::Down;
        Some(check)
    }
}

impl PoolRecord {
    /// Replaces the servers by `wanted`, in this order. O(number of servers).
    pub(in crate::control) fn sync(
        &mut self,
        wanted: Vec<EffectiveServer>,
        plan: &PoolPlan,
        ground: &mut Ground<'_>,
    ) {
        let names: Vec<ServerName> = wanted.iter().map(|server| server.spec.name.clone()).collect();
        let stay: HashSet<&ServerName> = names.iter().collect();
        let gone = self.take_out(|record| !stay.contains(&record.spec.spec.name), ground);
        let mut known: HashMap<SocketAddr, HealthRecord> =
            gone.into_iter().filter_map(|(address, health)| Some((address?, health))).collect();
        for server in wanted {
            let is_new = !known.is_empty() && self.members.slot_of(&server.spec.name).is_none();
            // At a start, `initial` determines the state of each server until its first check.
            let slot = self.put_as(server, Standing::AsPlanned, plan, ground);
            if let Some(record) = self.members.at_mut(slot).filter(|_| is_new)
                && let Some(before) = record.address_of_name().and_then(|address| known.remove(&address))
            {
                record.health.inherit(before, ground.now);
                self.settle(slot);
            }
        }
        ground.names.forget_unused();
        if self.members.arrange(names.iter()) {
            self.spoil();
        }
    }

    /// Adds a server, or changes the server of this name, for a command. Returns its slot.
    pub(in crate::control) fn put(
        &mut self,
        wanted: EffectiveServer,
        plan: &PoolPlan,
        ground: &mut Ground<'_>,
    ) -> usize {
        // A server that a fleet has just started may not listen yet.
        let standing = if wanted.spec.fleet.is_some() { Standing::Unproven } else { Standing::AsPlanned };
        let slot = self.put_as(wanted, standing, plan, ground);
        ground.names.forget_unused();
        slot
    }

    fn put_as(
        &mut self,
        wanted: EffectiveServer,
        standing: Standing,
        plan: &PoolPlan,
        ground: &mut Ground<'_>,
    ) -> usize {
        let slot = match self.members.slot_of(&wanted.spec.name) {
            Some(slot) => {
                self.change(slot, wanted, standing, plan, ground);
                slot
            }
            None => self.add(wanted, standing, plan, ground),
        };
        self.settle(slot);
        slot
    }

    /// Removes servers permanently.
    pub(in crate::control) fn remove_where(
        &mut self,
        goes: impl Fn(&ServerRecord) -> bool,
        ground: &mut Ground<'_>,
    ) {
        self.take_out(goes, ground);
        ground.names.forget_unused();
    }

    /// Removes servers. Returns their health, with the address of each that had one address of a host name.
    fn take_out(
        &mut self,
        goes: impl Fn(&ServerRecord) -> bool,
        ground: &mut Ground<'_>,
    ) -> Vec<(Option<SocketAddr>, HealthRecord)> {
        let mut known = Vec::new();
        for record in self.members.remove_where(goes) {
            ground.names.leave(&record.spec.spec.address, record.state.uid);
            self.rotation.recount(record.counted, None);
            known.push((record.address_of_name(), record.health));
            self.departed.add(record.state);
            self.spoil();
        }
        known
    }

    /// Applies another plan's rules for checks, agents, ejection and TLS.
    pub(in crate::control) fn configure(
        &mut self,
        plan: &PoolPlan,
        tls: Change<PoolTls>,
        ground: &mut Ground<'_>,
    ) {
        let before = &self.shared.plan;
        let check_changed = before.check != plan.check || before.proxy_protocol != plan.proxy_protocol;
        let agent_changed = before.agent != plan.agent;
        let rules_changed = check_changed || before.ejection != plan.ejection;
        let has_new_tls = matches!(tls, Change::New(_));
        if let Change::New(tls) = tls {
            self.tls = tls;
        }
        if !rules_changed && !has_new_tls && !agent_changed {
            return;
        }
        let name = self.name.clone();
        for record in self.members.iter_mut() {
            if rules_changed {
                record.health.configure(plan.check.as_ref(), plan.ejection.as_ref(), ground.now);
            }
            if check_changed || has_new_tls {
                record.check = None;
            }
            if agent_changed {
                record.agent = None;
            }
            if plan.agent.is_none() {
                record.health.forget_agent(ground.now);
            }
            if has_new_tls {
                let user = NameUser::new(&name, record.state.slot, &record.spec);
                record.locate(&user, self.tls.traffic.as_deref(), ground);
            }
        }
        self.settle_all();
    }

    /// Uses other files for TLS to the servers. Existing connections are not reused.
    pub(in crate::control) fn secure(&mut self, tls: PoolTls) {
        self.tls = tls;
        for record in self.members.iter_mut() {
            record.secure(self.tls.traffic.as_deref());
        }
    }

    fn add(
        &mut self,
        wanted: EffectiveServer,
        standing: Standing,
        plan: &PoolPlan,
        ground: &mut Ground<'_>,
    ) -> usize {
        let slot = self.members.next_slot();
        let unproven = standing.check(plan);
        let check = unproven.as_ref().or(plan.check.as_ref());
        let health = HealthRecord::new(check, plan.ejection.as_ref(), ground.now);
        let mut record = ServerRecord::new(wanted, slot, health, ground.threads, ground.now);
        let user = NameUser::new(&self.name, slot, &record.spec);
        record.locate(&user, self.tls.traffic.as_deref(), ground);
        self.members.insert(record);
        self.spoil();
        slot
    }

    fn change(
        &mut self,
        slot: usize,
        wanted: EffectiveServer,
        standing: Standing,
        plan: &PoolPlan,
        ground: &mut Ground<'_>,
    ) {
        let user = NameUser::new(&self.name, slot, &wanted);
        let Some(record) = self.members.at_mut(slot) else { return };
        if record.spec == wanted {
            return;
        }
        let before = std::mem::replace(&mut record.spec, wanted);
        if before.spec.address != record.spec.spec.address {
            ground.names.leave(&before.spec.address, record.state.uid);
            record.state.set_address(address_of(&record.spec).to_string());
            record.locate(&user, self.tls.traffic.as_deref(), ground);
            // The new address has unknown health, so a check starts at once.
            record.check = None;
            record.agent = None;
            if let Some(check) = standing.check(plan) {
                record.health.restart(Some(&check), ground.now);
            }
        }
        match (before.state, record.spec.state) {
            (before, now) if before == now => {}
            (AdminState::Maintenance, _) => {
                let unproven = standing.check(plan);
                record.health.restart(unproven.as_ref().or(plan.check.as_ref()), ground.now);
                record.health.touch(ground.now);
            }
            (_, now) => {
                if now == AdminState::Maintenance {
                    record.check = None;
                }
                record.health.touch(ground.now);
            }
        }
        self.spoil();
    }

    fn settle_all(&mut self) {
        for slot in 0..self.members.slots().len() {
            self.settle(slot);
        }
    }
}
