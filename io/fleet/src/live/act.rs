//! Decisions are carried out.

use std::time::Duration;

use weir_model::ServerName;
use weir_scale::{Action, Decision, Successor};

use super::look::name_of;
use super::memory::Memory;
use super::{Balancer, Done, Live};
use crate::{Failure, FailureKind, Machine, MachineId};

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
                Err(why) if why.kind == FailureKind::Conflict => {
                    self.memory.is_refused(id, now, why.to_string());
                }
                Err(_) => {}
            }
        }
        for (id, result) in orders.start.iter().zip(&started) {
            if result.is_ok() {
                self.memory.ordered(id, now, true, false);
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
        let mut gone = |memory: &mut Memory, server: &ServerName| {
            let id = id(server)?;
            memory.leaves(&id, now);
            match memory.refusal(&id, now) {
                Some(why) => {
                    refusals.push(why.to_owned());
                    None
                }
                None => Some(id),
            }
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
                    orders.start.extend(id(server));
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
                    orders.stop.extend(gone(&mut self.memory, server));
                    orders.done.cut += cut;
                }),
                Action::Delete { server, cut } => self.take_out(server, *cut, troubles).map(|()| {
                    orders.delete.extend(gone(&mut self.memory, server));
                    orders.done.cut += cut;
                }),
                Action::Replace { server, by, delete_first, cut } => {
                    orders.delete.extend(gone(&mut self.memory, server));
                    orders.delete_first |= *delete_first;
                    orders.done.replaced += 1;
                    match by {
                        Successor::Woken(other) => orders.start.extend(id(other)),
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
