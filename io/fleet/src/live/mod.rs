//! The loop of a fleet: what balances is asked how it goes, `logic/scale` decides, the provider acts.
//!
//! One [`round`](Live::round) after the other, as often as the caller likes; the time is an argument, so that rounds can be played
//! in virtual time. A server comes into the balancer when its machine runs, and gets requests when its checks pass there; it is
//! drained there before it is stopped. If the machines cannot be listed, nothing is decided: no news is no reason to change anything.

mod act;
mod look;
mod memory;

use std::net::SocketAddr;

use weir_model::ServerName;
use weir_scale::{Decision, Now, Sample, Scaler, Server};

use self::memory::Memory;
use crate::{Actuator, Settled};

/// What balances over the fleet's servers. It may balance over others as well: those it does not tell of.
pub trait Balancer {
    /// What it measures now.
    fn sample(&self) -> Sample;

    /// How the fleet's servers do.
    fn members(&self) -> Vec<Member>;

    /// A new server: it gets requests when its checks have passed, few at first.
    fn admit(&self, server: &ServerName, address: SocketAddr) -> Result<(), String>;

    /// It gets nothing new and finishes what it has.
    fn drain(&self, server: &ServerName) -> Result<(), String>;

    /// It gets requests again.
    fn recall(&self, server: &ServerName) -> Result<(), String>;

    /// It is forgotten, with whatever it still works on.
    fn remove(&self, server: &ServerName) -> Result<(), String>;
}

/// A server as what balances sees it.
#[derive(Debug, Clone, PartialEq)]
pub struct Member {
    /// Which.
    pub server: ServerName,
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
    port: u16,
    memory: Memory,
}

/// What a round has come to.
#[derive(Debug)]
pub struct Round {
    /// What was decided; `None`: the machines could not be listed.
    pub decision: Option<Decision>,
    /// The servers that it was decided on.
    pub servers: Vec<Server>,
    /// Actions of which nobody knew how they had ended, and how they have.
    pub settled: Vec<Settled>,
    /// What did not work, for people. Each thing is tried again in later rounds, if it is still wanted then.
    pub troubles: Vec<String>,
}

impl<B: Balancer> Live<B> {
    /// For the process that has the lease. Machines without a port of the provider's choice have their service on `port`.
    pub fn new(scaler: Scaler, actuator: Actuator, balancer: B, port: u16) -> Self {
        Self { scaler, actuator, balancer, port, memory: Memory::default() }
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
        let mut round =
            Round { decision: None, servers: Vec::new(), settled: Vec::new(), troubles: Vec::new() };
        if let Err(failure) = self.actuator.tend().await {
            round.troubles.push(failure.to_string());
        }
        match self.actuator.settle().await {
            Ok(settled) => round.settled = settled,
            Err(failure) => round.troubles.push(failure.to_string()),
        }
        let machines = match self.actuator.machines().await {
            Ok(machines) => machines,
            Err(failure) => {
                round.troubles.push(failure.to_string());
                return round;
            }
        };
        self.memory.keep_only(&machines);
        let to_stop = self.meet(now.at, &machines, &mut round.troubles);
        let stopped = self.actuator.stop(&to_stop).await;
        round.troubles.extend(stopped.into_iter().filter_map(Result::err).map(|why| why.to_string()));
        let members = self.balancer.members();
        round.servers = self.servers(now.at, &machines, &members);
        self.scaler.observe(now.at, &self.balancer.sample());
        let decision = self.scaler.decide(now, &round.servers);
        self.act(now.at, &machines, &decision, &mut round.troubles).await;
        round.decision = Some(decision);
        round
    }
}
