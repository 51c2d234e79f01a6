//! Converts machines and members into the servers of `logic/scale`.

use std::net::SocketAddr;
use std::time::Duration;

use weir_model::{Name, ServerName, ZoneName};
use weir_scale::{Now, Server, ServerState, StartFailure};

use super::absent::Verdict;
use super::memory::Asked;
use super::{Balancer, Health, Live, Member};
use crate::{Machine, MachineId, MachineState};

impl<B: Balancer> Live<B> {
    /// Adds running machines to the load balancer, and removes the others. Returns running machines that were
    /// created to be kept stopped.
    pub(super) fn meet(
        &mut self,
        now: Duration,
        machines: &[Machine],
        members: &[Member],
        troubles: &mut Vec<String>,
    ) -> Vec<MachineId> {
        let mut to_stop = Vec::new();
        for machine in machines {
            let Some(name) = name_of(machine) else { continue };
            let member = members.iter().find(|member| member.server == name);
            let is_member = member.is_some();
            let told = match machine.state {
                MachineState::Running if self.memory.of(&machine.id, now).for_standby => {
                    let is_asked = self.memory.is_asked(&machine.id)
                        || self.memory.of(&machine.id, now).is_being_stopped(now)
                        || self.memory.refusal(&machine.id, now).is_some();
                    if !is_asked {
                        to_stop.push(machine.id.clone());
                    }
                    Ok(())
                }
                MachineState::Running if self.memory.of(&machine.id, now).leaving.is_some() => Ok(()),
                MachineState::Running => self.admit(machine, &name, member),
                MachineState::Stopped | MachineState::Failed if is_member => {
                    self.balancer.remove(&name, true)
                }
                // Another client deletes the machine; it may finish its requests.
                MachineState::Deleting => member.map_or(Ok(()), |member| self.let_go(member)),
                _ => Ok(()),
            };
            if machine.state == MachineState::Stopped {
                self.memory.of(&machine.id, now).for_standby = false;
            }
            troubles.extend(told.err().map(|why| format!("{name}: {why}")));
            // The machine is deleted next, so the reason is reported now.
            if let (MachineState::Failed, Some(why)) = (machine.state, &machine.note) {
                troubles.push(format!("{name} has failed: {why}"));
            }
        }
        // Drains a server that is missing from the list, because its machine may still run. Removes it once
        // it has no requests.
        let is_gone = |member: &&Member| self.absent.verdict(member) == Some(Verdict::Gone);
        let gone: Vec<&Member> = members.iter().filter(is_gone).collect();
        for member in gone {
            let told = self.let_go(member);
            troubles.extend(told.err().map(|why| format!("{}: {why}", member.server)));
        }
        to_stop
    }

    fn let_go(&mut self, member: &Member) -> Result<(), String> {
        match (member.draining, member.active) {
            (false, _) => {
                self.recalled.drained(&member.server);
                self.balancer.drain(&member.server)
            }
            (true, 0) => self.balancer.remove(&member.server, false),
            (true, _) => Ok(()),
        }
    }

    /// Adds a running machine to the load balancer, or updates its address there.
    fn admit(&self, machine: &Machine, name: &ServerName, member: Option<&Member>) -> Result<(), String> {
        // The address may be known later than the state.
        let Some(ip) = machine.ip else { return Ok(()) };
        let Some(port) = machine.port.or(self.port) else {
            return Err("nobody says at which port it listens: the fleet needs a `port`".to_owned());
        };
        let address = SocketAddr::new(ip, port);
        match member {
            None => self.balancer.admit(name, address),
            // A restarted process may have another port.
            Some(member) if member.address.is_some_and(|known| known != address) => {
                self.balancer.relocate(name, address)
            }
            Some(_) => Ok(()),
        }
    }

    pub(super) fn servers(&mut self, now: Now, machines: &[Machine], members: &[Member]) -> Vec<Server> {
        let moment = since_1970(now);
        let mut servers = Vec::with_capacity(machines.len());
        for machine in machines {
            let Some(name) = name_of(machine) else { continue };
            let member = members.iter().find(|member| member.server == name);
            let state = self.state(now.at, machine, member);
            let created = self.created(now, machine);
            let active = member.map_or(0, |member| member.active);
            servers.push(Server {
                flavour: flavour_of(machine),
                zone: machine.zone.as_ref().and_then(|zone| ZoneName::new(zone).ok()),
                cost_per_hour: machine.cost_per_hour.unwrap_or(0.0),
                active,
                ..unseen(name, created, state)
            });
        }
        for member in members {
            if self.absent.verdict(member) == Some(Verdict::Kept) {
                let server = member.server.clone();
                let flavour = self.absent.flavour(&server);
                let unseen = unseen(server, moment, ServerState::Active);
                servers.push(Server { flavour, active: member.active, ..unseen });
            }
        }
        // They may already exist, and must not be ordered again.
        let for_standby = self.creating.for_standby.get();
        let creating = self.actuator.pending_besides(machines) + self.creating.unwritten.get();
        let pending = std::iter::repeat_n(false, creating.saturating_sub(for_standby));
        let pending = pending.chain(std::iter::repeat_n(true, for_standby));
        for (at, for_standby) in pending.chain(self.memory.unlisted()).enumerate() {
            if let Ok(name) = ServerName::new(&format!("pending-{at}")) {
                let ready = now.at + self.scaler.expected(false);
                servers.push(unseen(name, moment, ServerState::Creating { ready, for_standby }));
            }
        }
        servers
    }

    /// Returns the time of creation since 1970. For a machine that this process did not order, the provider's
    /// time is used if known.
    fn created(&mut self, now: Now, machine: &Machine) -> Duration {
        let seen = self.memory.of(&machine.id, now.at);
        match machine.created_s {
            Some(created_s) if !seen.was_ordered => Duration::from_secs(created_s),
            _ => since_1970(now).saturating_sub(now.at.saturating_sub(seen.ordered)),
        }
    }

    /// Returns the number of serving servers that are missing from the list.
    pub(super) fn left_out(&self, members: &[Member]) -> u32 {
        let verdicts = members.iter().filter_map(|member| self.absent.verdict(member));
        let left_out = verdicts.filter(|verdict| matches!(verdict, Verdict::Kept | Verdict::Replaced));
        u32::try_from(left_out.count()).unwrap_or(u32::MAX)
    }

    fn state(&mut self, now: Duration, machine: &Machine, member: Option<&Member>) -> ServerState {
        let seen = self.memory.of(&machine.id, now);
        let was_failed = std::mem::replace(&mut seen.failed, machine.state == MachineState::Failed);
        if seen.failed && !was_failed && seen.awaited {
            self.failing.failed(now, StartFailure::Provider);
        }
        if matches!(machine.state, MachineState::Running | MachineState::Building | MachineState::Failed) {
            seen.start_accepted = false;
        }
        // The list may be older than the calls in progress.
        let ready = seen.begun + self.scaler.expected(seen.woken);
        match (seen.asked, machine.state) {
            (Some(Asked::LetGo), _) => return ServerState::Deleting,
            (Some(Asked::Start), MachineState::Stopped) => return ServerState::Booting { ready },
            _ => {}
        }
        match (machine.state, seen.leaving) {
            // The removal is repeated, or cancelled if the server is needed.
            (MachineState::Running | MachineState::Building, Some(leaving)) => {
                return if leaving.is_under_way(now) {
                    ServerState::Deleting
                } else {
                    ServerState::Draining { since: leaving.since }
                };
            }
            // A list may name the machine for a while after the provider has accepted its deletion.
            (MachineState::Stopped | MachineState::Failed, Some(leaving))
                if leaving.for_good && leaving.is_under_way(now) =>
            {
                return ServerState::Deleting;
            }
            (MachineState::Stopping | MachineState::Stopped | MachineState::Deleting, _) => {
                seen.leaving = None
            }
            _ => {}
        }
        if machine.state == MachineState::Building
            || machine.state == MachineState::Running && member.is_none()
        {
            seen.starts(now);
        }
        let ready = seen.begun + self.scaler.expected(seen.woken);
        let coming = ServerState::Creating { ready, for_standby: seen.for_standby };
        let member = match (machine.state, member) {
            (MachineState::Running, Some(member)) => member,
            (MachineState::Running, None) if seen.for_standby => return coming,
            (MachineState::Running, None) => return ServerState::Booting { ready },
            (MachineState::Building, _) => return coming,
            (MachineState::Stopping, _) => return ServerState::Stopping,
            // The provider has accepted the start, so repeating it would not help.
            (MachineState::Stopped, _) if seen.start_accepted => return ServerState::Booting { ready },
            (MachineState::Stopped, _) => return ServerState::Stopped,
            (MachineState::Failed, _) => return ServerState::Failed,
            // A state that the provider does not explain is treated like a deletion: the machine is left
            // alone.
            (MachineState::Deleting | MachineState::Unknown, _) => return ServerState::Deleting,
        };
        if self.recalled.refuses(member) {
            return ServerState::Shunned { since: *seen.shunned_since.get_or_insert(now) };
        }
        if member.draining {
            return ServerState::Draining { since: *seen.draining_since.get_or_insert(now) };
        }
        seen.draining_since = None;
        if member.health != Health::Shunned {
            seen.shunned_since = None;
        }
        match member.health {
            Health::Up(share) => {
                seen.unhealthy_since = None;
                if std::mem::take(&mut seen.awaited) && seen.was_ordered {
                    let (woken, took) = (seen.woken, now.saturating_sub(seen.ordered));
                    self.scaler.started(woken, took);
                    self.failing.served();
                }
                // A server in slow start is expected to have its full share soon.
                if share < 1.0 { ServerState::Warming { ready: now, share } } else { ServerState::Active }
            }
            // The server has not begun to serve, so it is not unhealthy.
            Health::Unknown | Health::Down if seen.awaited => ServerState::Booting { ready },
            Health::Unknown => ServerState::Booting { ready: now },
            Health::Shunned => {
                seen.unhealthy_since = None;
                ServerState::Shunned { since: *seen.shunned_since.get_or_insert(now) }
            }
            Health::Down => ServerState::Unhealthy { since: *seen.unhealthy_since.get_or_insert(now) },
        }
    }
}

fn since_1970(now: Now) -> Duration {
    Duration::from_secs(u64::try_from(now.wall_s).unwrap_or_default())
}

/// Returns a server without details.
fn unseen(name: ServerName, created: Duration, state: ServerState) -> Server {
    Server { name, flavour: None, zone: None, created, cost_per_hour: 0.0, active: 0, state }
}

/// Returns the flavour of a machine, if the provider reports it.
pub(super) fn flavour_of(machine: &Machine) -> Option<Name> {
    machine.flavour.as_ref().and_then(|flavour| Name::new(flavour).ok())
}

/// Returns the name of a machine in the load balancer: its token, else its id if that is a valid name.
pub(super) fn name_of(machine: &Machine) -> Option<ServerName> {
    let token = machine.token.as_ref().map(crate::Token::as_str);
    ServerName::new(token.unwrap_or(machine.id.as_str())).ok()
}
