//! The loop of a fleet: what balances is asked how it goes, `logic/scale` decides, the provider acts.
//!
//! One [`round`](Live::round) after the other, as often as the caller likes; the time is an argument, so that rounds can be played
//! in virtual time. A server comes into the balancer when its machine runs, and gets requests when its checks pass there; it is
//! drained there before it is stopped. If the machines cannot be listed, nothing is decided: no news is no reason to change anything.

mod absent;
mod act;
mod failing;
mod look;
mod memory;
mod recalled;
mod turn;

use std::net::SocketAddr;
use std::time::Duration;

use weir_model::ServerName;
use weir_scale::{Alarm, Decision, Now, Observation, Sample, Scaler, Server};

use self::absent::Absent;
use self::failing::Failing;
use self::memory::Memory;
use self::recalled::Recalled;
use self::turn::Turn;
use crate::journal::{Action, Outcome};
use crate::{Actuator, FailureKind, Settled};

/// What balances over the fleet's servers. It may balance over others as well: those it does not tell of.
pub trait Balancer {
    /// What it measures now.
    fn sample(&self) -> Sample;

    /// How single servers have done since it was asked last, where their capacity is to be learned.
    fn observations(&self) -> Vec<(ServerName, Observation)> {
        Vec::new()
    }

    /// How the fleet's servers do; a failure is never an empty list.
    fn members(&self) -> Result<Vec<Member>, String>;

    /// A new server: it gets requests when its checks have passed, few at first.
    fn admit(&self, server: &ServerName, address: SocketAddr) -> Result<(), String>;

    /// What stands in the way of what was told earlier, for people.
    fn troubles(&self) -> Vec<String> {
        Vec::new()
    }

    /// It is somewhere else now.
    fn relocate(&self, server: &ServerName, address: SocketAddr) -> Result<(), String>;

    /// It gets nothing new and finishes what it has.
    fn drain(&self, server: &ServerName) -> Result<(), String>;

    /// It gets requests again.
    fn recall(&self, server: &ServerName) -> Result<(), String>;

    /// It is forgotten: by `force` with whatever it still works on, else only if that is nothing.
    fn remove(&self, server: &ServerName, force: bool) -> Result<(), String>;
}

/// A server as what balances sees it.
#[derive(Debug, Clone, PartialEq)]
pub struct Member {
    /// Which.
    pub server: ServerName,
    /// Where it is.
    pub address: Option<SocketAddr>,
    /// What its checks say.
    pub health: Health,
    /// It gets nothing new.
    pub draining: bool,
    /// Requests that it works on.
    pub active: u64,
}

/// What the checks of a server say.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Health {
    /// Nothing yet.
    Unknown,
    /// They pass, and it takes this share of its full load (slow start), 0 to 1.
    Up(f64),
    /// They pass, or there are none, but it gets nothing for now: real traffic or its agent has put it out.
    Shunned,
    /// They fail.
    Down,
}

/// A fleet that follows demand.
#[derive(Debug)]
pub struct Live<B> {
    scaler: Scaler,
    actuator: Actuator,
    balancer: B,
    /// The port of the servers where the provider does not choose one.
    port: Option<u16>,
    memory: Memory,
    absent: Absent,
    failing: Failing,
    recalled: Recalled,
    turn: Turn,
    acts: bool,
    /// When it was decided last, or tried for the first time.
    decided: Option<Duration>,
}

/// What was done in a round: what providers and balancer have accepted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Done {
    /// New machines.
    pub created: u64,
    /// Stopped machines that were started.
    pub woken: u64,
    /// Servers that get nothing new.
    pub drained: u64,
    /// Draining ones that get requests again.
    pub recalled: u64,
    /// Machines that were stopped, to be woken later.
    pub stopped: u64,
    /// Machines that were deleted.
    pub deleted: u64,
    /// Servers that did not get well: their machines are among the deleted.
    pub replaced: u64,
    /// Requests that were cut off.
    pub cut: u64,
}

/// What a round has come to.
#[derive(Debug)]
pub struct Round {
    /// What was decided; `None`: machines or members could not be listed.
    pub decision: Option<Decision>,
    /// Nothing could be decided for longer than measurements count.
    pub silent: Option<Alarm>,
    /// What was measured.
    pub sample: Sample,
    /// The servers that it was decided on.
    pub servers: Vec<Server>,
    /// What was done.
    pub done: Done,
    /// Actions of which nobody knew how they had ended, and how they have.
    pub settled: Vec<Settled>,
    /// What did not work, for people. Each thing is tried again in later rounds, if it is still wanted then.
    pub troubles: Vec<String>,
    /// Fields in the list of machines that do not follow the contract.
    pub remarks: Vec<String>,
}

impl<B: Balancer> Live<B> {
    /// For the process that has the lease. Machines without a port of the provider's choice have their service on `port`.
    pub fn new(scaler: Scaler, actuator: Actuator, balancer: B, port: Option<u16>) -> Self {
        Self {
            scaler,
            actuator,
            balancer,
            port,
            memory: Memory::default(),
            absent: Absent::default(),
            failing: Failing::default(),
            recalled: Recalled::default(),
            turn: Turn::default(),
            acts: true,
            decided: None,
        }
    }

    /// Makes forecasts at moments that follow from the fleet's name: those of many fleets are not due at once then.
    #[must_use]
    pub fn spread(mut self, fleet: &str) -> Self {
        self.turn = Turn::of(fleet);
        self
    }

    /// Whether decisions are carried out. What runs is kept in the balancer either way, and what was begun is finished.
    pub fn set_acting(&mut self, acts: bool) {
        self.acts = acts;
    }

    /// What decides.
    pub fn scaler(&self) -> &Scaler {
        &self.scaler
    }

    /// What decides, for those who pin or ask.
    pub fn scaler_mut(&mut self) -> &mut Scaler {
        &mut self.scaler
    }

    /// What acts, for those who ask how it does.
    pub fn actuator(&self) -> &Actuator {
        &self.actuator
    }

    /// Looks, decides and acts once.
    pub async fn round(&mut self, now: Now) -> Round {
        let mut round = Round {
            decision: None,
            silent: self.silence(now.at),
            // Now, and not when the provider has answered: a rate is what came in a time that is known.
            sample: self.balancer.sample(),
            servers: Vec::new(),
            done: Done::default(),
            settled: Vec::new(),
            troubles: Vec::new(),
            remarks: Vec::new(),
        };
        if let Err(failure) = self.actuator.tend().await {
            round.troubles.push(failure.to_string());
        }
        match self.actuator.settle().await {
            Ok(settled) => {
                for one in &settled {
                    if let (Action::Stop(id) | Action::Delete(id), Outcome::Abandoned) =
                        (&one.action, &one.outcome)
                    {
                        self.memory.stays(id);
                    }
                    // A list may leave it out for a while, and it is not to be made again.
                    if let (Action::Create(_), Outcome::Done(id)) = (&one.action, &one.outcome) {
                        self.memory.of(id, now.at);
                    }
                }
                round.settled = settled;
            }
            Err(failure) => round.troubles.push(failure.to_string()),
        }
        let machines = match self.actuator.machines().await {
            Ok(machines) => machines,
            Err(failure) => {
                round.troubles.push(failure.to_string());
                return round;
            }
        };
        round.remarks = self.actuator.remarks();
        // Answers take their time, and so does the balancer: it is no use to tell it what somebody else decides by now.
        if let Err(why) = self.actuator.leads() {
            round.troubles.push(why.to_string());
            return round;
        }
        let start_up = self.scaler.expected(false);
        self.memory.are_listed(now.at, &machines, start_up);
        let members = match self.balancer.members() {
            Ok(members) => members,
            Err(why) => {
                round.troubles.push(why);
                return round;
            }
        };
        self.absent.look(now.at, &machines, &members);
        let to_stop = self.meet(now.at, &machines, &members, &mut round.troubles);
        let stopped = self.actuator.stop(&to_stop).await;
        for (id, result) in to_stop.iter().zip(stopped) {
            match result {
                Ok(()) => self.memory.of(id, now.at).stop_accepted = Some(now.at),
                Err(why) => {
                    if why.kind == FailureKind::Conflict {
                        self.memory.is_refused(id, now.at, why.to_string());
                    }
                    round.troubles.push(why.to_string());
                }
            }
        }
        let members = match self.balancer.members() {
            Ok(members) => members,
            Err(why) => {
                round.troubles.push(why);
                return round;
            }
        };
        round.troubles.extend(self.balancer.troubles());
        self.recalled.look(now.at, &members, self.scaler.rules().replace_after);
        round.servers = self.servers(now, &machines, &members);
        self.scaler.observe(now.at, &round.sample);
        for (name, observation) in self.balancer.observations() {
            let server = round.servers.iter().find(|server| server.name == name);
            self.scaler.learn(server.and_then(|server| server.flavour.as_ref()), &observation);
        }
        self.scaler.set_failed_starts(self.failing.failures());
        let mut decision = self.scaler.decide(now, &round.servers);
        self.absent.decided(decision.wanted);
        self.failing.hold_back(now.at, &mut decision, &round.servers);
        match self.left_out(now.at, &members) {
            0 => {}
            servers => decision.alarms.push(Alarm::LeftOut(servers)),
        }
        (self.decided, round.silent) = (Some(now.at), None);
        failing::wait_for_others(self.actuator.waits_to_create(), &mut decision);
        if self.acts && self.actuator.leads().is_ok() {
            round.done = self.act(now.at, &machines, &decision, &mut round.troubles).await;
        }
        round.decision = Some(decision);
        // What was decided is under way: now there is time for it.
        if self.turn.has_come(now.wall_s, self.scaler.rules()) {
            self.scaler.refit();
        }
        round
    }

    /// What is to be said if nothing can be decided now either.
    fn silence(&mut self, now: Duration) -> Option<Alarm> {
        let span = now.saturating_sub(*self.decided.get_or_insert(now));
        (span > self.scaler.rules().stale_after).then_some(Alarm::Silent(span))
    }
}
