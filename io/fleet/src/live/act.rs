//! Decisions are carried out.

use std::time::Duration;

use weir_model::ServerName;
use weir_scale::{Action, Decision, StartFailure, Successor};

use super::look::name_of;
use super::memory::Memory;
use super::{Balancer, Done, Live};
use crate::{Failure, FailureKind, Machine, MachineId, MachineState};

/// What a decision asks of the provider.
#[derive(Default)]
struct Orders {
    start: Vec<MachineId>,
    create: usize,
    create_for_standby: usize,
    stop: Vec<MachineId>,
    delete: Vec<MachineId>,
    /// Something has to be gone before there is room.
    delete_first: bool,
    /// What was told the balancer.
    done: Done,
}

impl<B: Balancer> Live<B> {
    pub(super) async fn act(
        &mut self,
        now: Duration,
        machines: &[Machine],
        decision: &Decision,
        troubles: &mut Vec<String>,
    ) -> Done {
        let orders = self.tell_balancer(now, machines, decision, troubles);
        let (urgent, later) =
            if orders.delete_first { (&orders.delete[..], &[][..]) } else { (&[][..], &orders.delete[..]) };
        let first = self.actuator.delete(urgent).await;
        let (started, created, stopped, deleted) = tokio::join!(
            self.actuator.start(&orders.start),
            self.actuator.create(orders.create + orders.create_for_standby),
            self.actuator.stop(&orders.stop),
            self.actuator.delete(later)
        );
        let asked = urgent.iter().zip(&first).chain(later.iter().zip(&deleted));
        for (id, result) in asked.chain(orders.stop.iter().zip(&stopped)) {
            match result {
                Ok(()) => self.memory.is_let_go(id, now),
                Err(why) => self.is_refused(id, now, why),
            }
        }
        for (id, result) in orders.start.iter().zip(&started) {
            match result {
                Ok(()) => self.memory.ordered(id, now, true, false),
                Err(why) => self.is_refused(id, now, why),
            }
        }
        for (at, result) in created.iter().enumerate() {
            if let Ok(machine) = result {
                self.memory.ordered(&machine.id, now, false, at >= orders.create);
            }
        }
        let accepted =
            |results: &[Result<(), Failure>]| results.iter().filter(|result| result.is_ok()).count() as u64;
        let done = Done {
            created: created.iter().filter(|result| result.is_ok()).count() as u64,
            woken: accepted(&started),
            stopped: accepted(&stopped),
            deleted: accepted(&first) + accepted(&deleted),
            ..orders.done
        };
        let created = created.into_iter().map(|result| result.map(drop));
        let all = first.into_iter().chain(started).chain(created).chain(stopped).chain(deleted);
        // Many fail for one reason.
        let mut reasons: Vec<String> =
            all.filter_map(Result::err).map(|why: Failure| why.to_string()).collect();
        reasons.dedup();
        troubles.extend(reasons);
        done
    }

    /// The state of a machine may not permit something for long: the provider is not asked at every look.
    fn is_refused(&mut self, id: &MachineId, now: Duration, why: &Failure) {
        if why.kind == FailureKind::Conflict {
            self.memory.is_refused(id, now, why.to_string());
        }
    }

    /// What concerns the balancer is done at once. A server leaves it before its machine is stopped.
    fn tell_balancer(
        &mut self,
        now: Duration,
        machines: &[Machine],
        decision: &Decision,
        troubles: &mut Vec<String>,
    ) -> Orders {
        let id = |server: &ServerName| {
            let found = machines.iter().find(|machine| name_of(machine).as_ref() == Some(server));
            found.map(|machine| machine.id.clone())
        };
        let mut orders = Orders::default();
        let mut refusals: Vec<String> = Vec::new();
        let mut unless_refused = |memory: &Memory, id: MachineId| match memory.refusal(&id, now) {
            Some(why) => {
                refusals.push(why.to_owned());
                None
            }
            None => Some(id),
        };
        let gone = |memory: &mut Memory, server: &ServerName, for_good: bool| {
            let id = id(server)?;
            memory.leaves(&id, now, for_good);
            Some(id)
        };
        for action in &decision.actions {
            let told = match action {
                // The next look brings it back.
                Action::Recall { server } if id(server).is_some_and(|id| self.memory.stays(&id)) => {
                    orders.done.recalled += 1;
                    Ok(())
                }
                Action::Recall { server } => self.balancer.recall(server).map(|()| {
                    orders.done.recalled += 1;
                    self.recalled.called(server);
                }),
                Action::Drain { server } => self.balancer.drain(server).map(|()| {
                    orders.done.drained += 1;
                    self.recalled.drained(server);
                }),
                Action::Wake { server } => {
                    orders.start.extend(id(server).and_then(|id| unless_refused(&self.memory, id)));
                    Ok(())
                }
                Action::Create { count, for_standby: false, .. } => {
                    orders.create += *count as usize;
                    Ok(())
                }
                Action::Create { count, for_standby: true, .. } => {
                    orders.create_for_standby += *count as usize;
                    Ok(())
                }
                // Whoever has got something to do again is asked anew at the next look.
                Action::Stop { server, cut } => self.take_out(server, *cut, troubles).map(|()| {
                    let id = gone(&mut self.memory, server, false);
                    orders.stop.extend(id.and_then(|id| unless_refused(&self.memory, id)));
                    orders.done.cut += cut;
                }),
                Action::Delete { server, cut } => self.take_out(server, *cut, troubles).map(|()| {
                    let id = gone(&mut self.memory, server, true);
                    orders.delete.extend(id.and_then(|id| unless_refused(&self.memory, id)));
                    orders.done.cut += cut;
                }),
                Action::Replace { server, by, delete_first, cut } => {
                    if let Some(machine) = machines.iter().find(|one| name_of(one).as_ref() == Some(server)) {
                        self.note_failed_start(now, machine);
                    }
                    let leaver = gone(&mut self.memory, server, true);
                    orders.delete.extend(leaver.and_then(|id| unless_refused(&self.memory, id)));
                    orders.delete_first |= *delete_first;
                    orders.done.replaced += 1;
                    match by {
                        Successor::Woken(other) => {
                            orders.start.extend(id(other).and_then(|id| unless_refused(&self.memory, id)));
                        }
                        Successor::Created(_) => orders.create += 1,
                        Successor::Nobody => {}
                    }
                    if *cut > 0 {
                        troubles.push(format!("{server}: {cut} requests are cut off: it does not get well"));
                    }
                    self.forget(server, true).map(|()| orders.done.cut += cut)
                }
            };
            troubles.extend(told.err().map(|why| format!("{action}: {why}")));
        }
        refusals.dedup();
        troubles.extend(refusals);
        orders
    }

    /// Notes for the pause between creations that a machine is given up which has never served.
    fn note_failed_start(&mut self, now: Duration, machine: &Machine) {
        let seen = self.memory.of(&machine.id, now);
        if !seen.awaited {
            return;
        }
        let cause = match machine.state {
            MachineState::Running => StartFailure::Checks,
            MachineState::Stopped => StartFailure::StaysStopped,
            MachineState::Failed => StartFailure::Provider,
            _ => StartFailure::Late,
        };
        self.failing.failed(now, cause);
    }

    fn take_out(&self, server: &ServerName, cut: u64, troubles: &mut Vec<String>) -> Result<(), String> {
        if cut > 0 {
            troubles.push(format!("{server}: {cut} requests are cut off: its time to drain is over"));
        }
        self.forget(server, cut > 0)
    }

    fn forget(&self, server: &ServerName, force: bool) -> Result<(), String> {
        if self.balancer.members()?.iter().any(|member| member.server == *server) {
            self.balancer.remove(server, force)
        } else {
            Ok(())
        }
    }
}
