//! Execution of decisions.

use std::rc::Rc;
use std::time::Duration;

use weir_model::ServerName;
use weir_scale::{Action, Decision, StartFailure, Successor};

use super::look::name_of;
use super::memory::{Asked, Memory};
use super::orders::{Creating, Orders};
use super::{Balancer, Done, Live, Round};
use crate::{Machine, MachineId, MachineState};

impl<B: Balancer> Live<B> {
    /// Executes a decision: the load balancer's part at once, the provider's part as orders. Returns the
    /// result of the load balancer's part, and the number of the orders if there are any.
    pub(super) fn act(
        &mut self,
        now: Duration,
        machines: &[Machine],
        decision: &Decision,
        troubles: &mut Vec<String>,
    ) -> (Done, Option<u64>) {
        let (orders, done) = self.tell_balancer(now, machines, decision, troubles);
        let number = (!orders.is_empty()).then(|| self.give(orders));
        (done, number)
    }

    /// Starts orders, which continue between rounds. Returns their number.
    pub(super) fn give(&mut self, orders: Orders) -> u64 {
        let asked = [(&orders.start, Asked::Start), (&orders.park, Asked::Park)];
        let asked = asked.into_iter().chain([(&orders.stop, Asked::LetGo), (&orders.delete, Asked::LetGo)]);
        for (ids, what) in asked {
            ids.iter().for_each(|id| self.memory.asks(id, orders.at, what));
        }
        let Creating { unwritten, for_standby } = &*self.creating;
        unwritten.set(unwritten.get() + orders.create + orders.create_for_standby);
        for_standby.set(for_standby.get() + orders.create_for_standby);
        self.errands.carry_out(&self.actuator, orders)
    }

    /// Processes the provider's answers to orders. Returns the results of the orders with this number.
    pub(super) fn note_carried(&mut self, now: Duration, number: Option<u64>, round: &mut Round) -> Done {
        let mut own = Done::default();
        for (of, carried) in self.errands.carried() {
            let all = [&carried.started, &carried.stopped, &carried.deleted, &carried.parked];
            for (id, result) in all.into_iter().flatten() {
                self.memory.is_answered(id, now, result);
            }
            for (made, for_standby) in &carried.created {
                if let Ok(id) = made {
                    self.memory.made(id, carried.at, *for_standby);
                }
            }
            let done = carried.done();
            round.done.add(done);
            round.troubles.extend(carried.failures());
            if Some(of) == number {
                own = done;
            }
        }
        own
    }

    /// Executes the load balancer's part. A server leaves the load balancer before its machine is stopped.
    fn tell_balancer(
        &mut self,
        now: Duration,
        machines: &[Machine],
        decision: &Decision,
        troubles: &mut Vec<String>,
    ) -> (Orders, Done) {
        let id = |server: &ServerName| {
            let found = machines.iter().find(|machine| name_of(machine).as_ref() == Some(server));
            found.map(|machine| machine.id.clone())
        };
        let mut orders = Orders { at: now, creating: Rc::clone(&self.creating), ..Orders::default() };
        let mut done = Done::default();
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
            // Skips machines with a call in progress; a later round decides about them.
            if subject(action).and_then(&id).is_some_and(|id| self.memory.is_asked(&id)) {
                continue;
            }
            let told = match action {
                // The next round adds it to the load balancer again.
                Action::Recall { server } if id(server).is_some_and(|id| self.memory.stays(&id)) => {
                    done.recalled += 1;
                    Ok(())
                }
                Action::Recall { server } => self.balancer.recall(server).map(|()| {
                    done.recalled += 1;
                    self.recalled.called(server);
                }),
                Action::Drain { server } => self.balancer.drain(server).map(|()| {
                    done.drained += 1;
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
                // If the server got new requests in the meantime, the next round tries again.
                Action::Stop { server, cut } => self.take_out(server, *cut, troubles).map(|()| {
                    let id = gone(&mut self.memory, server, false);
                    orders.stop.extend(id.and_then(|id| unless_refused(&self.memory, id)));
                    done.cut += cut;
                }),
                Action::Delete { server, cut } => self.take_out(server, *cut, troubles).map(|()| {
                    let id = gone(&mut self.memory, server, true);
                    orders.delete.extend(id.and_then(|id| unless_refused(&self.memory, id)));
                    done.cut += cut;
                }),
                Action::Replace { server, by, delete_first, cut } => {
                    if let Some(machine) = machines.iter().find(|one| name_of(one).as_ref() == Some(server)) {
                        self.note_failed_start(now, machine);
                    }
                    let leaver = gone(&mut self.memory, server, true);
                    orders.delete.extend(leaver.and_then(|id| unless_refused(&self.memory, id)));
                    orders.delete_first |= *delete_first;
                    done.replaced += 1;
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
                    self.forget(server, true).map(|()| done.cut += cut)
                }
            };
            troubles.extend(told.err().map(|why| format!("{action}: {why}")));
        }
        refusals.dedup();
        troubles.extend(refusals);
        (orders, done)
    }

    /// Records a failed start if the removed machine never served. Failed starts delay further creations.
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

/// Returns the server of an action.
fn subject(action: &Action) -> Option<&ServerName> {
    match action {
        Action::Recall { server }
        | Action::Wake { server }
        | Action::Drain { server }
        | Action::Stop { server, .. }
        | Action::Delete { server, .. }
        | Action::Replace { server, .. } => Some(server),
        Action::Create { .. } => None,
    }
}
