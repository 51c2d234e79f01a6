//! The loop of a fleet: what balances is asked how it goes, `logic/scale` decides, the provider acts.
//!
//! One [`round`](Live::round) after the other, as often as the caller likes; the time is an argument, so that rounds can be played
//! in virtual time. A slow provider delays no round: its calls continue between rounds, which use the latest list of machines. A server
//! comes into the balancer when its machine runs, and gets requests when its checks pass there; it is
//! drained there before it is stopped. If the machines cannot be listed, nothing is decided: no news is no reason to change anything.

mod absent;
mod act;
mod errands;
mod failing;
mod look;
mod memory;
mod orders;
mod recalled;
mod turn;

use std::net::SocketAddr;
use std::rc::Rc;
use std::time::Duration;

use tokio::time::Instant;

use weir_model::ServerName;
use weir_scale::{Alarm, Decision, Now, Observation, Sample, Scaler, Server};

use self::absent::Absent;
use self::errands::{Errands, Known, Listed};
use self::failing::Failing;
use self::memory::Memory;
use self::orders::{Creating, Orders};
use self::recalled::Recalled;
use self::turn::Turn;
use crate::journal::{Action, Outcome};
use crate::{Actuator, Settled};

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
    actuator: Rc<Actuator>,
    errands: Errands,
    /// Latest list of machines; `None` = none yet, or the latest call failed.
    known: Option<Known>,
    creating: Rc<Creating>,
    /// Longest wait for the provider in a round.
    patience: Duration,
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

/// Fits looks a second apart.
const PATIENCE: Duration = Duration::from_millis(500);
/// Least age limit of a list, in multiples of [`Live::patience`].
const PATIENCES_KNOWN: u32 = 4;

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
    /// Results of this round and of earlier orders that finished.
    pub done: Done,
    /// True if at least a part of this decision is done or under way.
    pub carried_out: bool,
    /// Actions of which nobody knew how they had ended, and how they have.
    pub settled: Vec<Settled>,
    /// What did not work, for people. Each thing is tried again in later rounds, if it is still wanted then.
    pub troubles: Vec<String>,
    /// Fields in the list of machines that do not follow the contract.
    pub remarks: Vec<String>,
}

impl Done {
    fn add(&mut self, more: Self) {
        let Self { created, woken, drained, recalled, stopped, deleted, replaced, cut } = more;
        self.created += created;
        self.woken += woken;
        self.drained += drained;
        self.recalled += recalled;
        self.stopped += stopped;
        self.deleted += deleted;
        self.replaced += replaced;
        self.cut += cut;
    }
}

impl<B: Balancer> Live<B> {
    /// For the process that has the lease. Machines without a port of the provider's choice have their service on `port`.
    pub fn new(scaler: Scaler, actuator: Actuator, balancer: B, port: Option<u16>) -> Self {
        Self {
            scaler,
            actuator: Rc::new(actuator),
            errands: Errands::default(),
            known: None,
            creating: Rc::default(),
            patience: PATIENCE,
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

    /// Sets the longest wait for the provider in a round: half of the time between rounds.
    #[must_use]
    pub fn patience(mut self, patience: Duration) -> Self {
        self.patience = patience;
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

    /// Waits for another future while provider calls continue.
    pub async fn during<T>(&mut self, other: impl Future<Output = T>) -> T {
        self.errands.during(other).await
    }

    /// Waits for all orders, without a limit. Call it before dropping, which would cut them off.
    pub async fn finish(&mut self) {
        self.errands.finish().await;
    }

    /// Looks, decides and acts once.
    pub async fn round(&mut self, now: Now) -> Round {
        let until = Instant::now() + self.patience;
        let mut round = Round {
            decision: None,
            silent: self.silence(now.at),
            // Now, and not when the provider has answered: a rate is what came in a time that is known.
            sample: self.balancer.sample(),
            servers: Vec::new(),
            done: Done::default(),
            carried_out: false,
            settled: Vec::new(),
            troubles: Vec::new(),
            remarks: Vec::new(),
        };
        // A list that finished since the last round counts until a newer one comes.
        let late = self.errands.listed();
        self.errands.list(&self.actuator);
        self.errands.await_list(until).await;
        // Notes new machines before a list names them.
        self.note_carried(now.at, None, &mut round);
        for listed in late.into_iter().chain(self.errands.listed()) {
            self.take_list(now.at, listed, &mut round);
        }
        // Answers take their time, and so does the balancer: it is no use to tell it what somebody else decides by now.
        if let Err(why) = self.actuator.leads() {
            round.troubles.push(why.to_string());
            return round;
        }
        let Some(mut known) = self.known.take() else { return round };
        self.judge(now, until, &mut known, &mut round).await;
        self.known = Some(known);
        round
    }

    /// Takes in the result of a list.
    fn take_list(&mut self, now: Duration, listed: Listed, round: &mut Round) {
        let Listed { untended, settled, machines } = listed;
        round.troubles.extend(untended.map(|failure| failure.to_string()));
        match settled {
            Ok(settled) => {
                for one in &settled {
                    if let (Action::Stop(id) | Action::Delete(id), Outcome::Abandoned) =
                        (&one.action, &one.outcome)
                    {
                        self.memory.stays(id);
                    }
                    // A list may leave it out for a while, and it is not to be made again.
                    if let (Action::Create(_), Outcome::Done(id)) = (&one.action, &one.outcome) {
                        self.memory.of(id, now);
                    }
                }
                round.settled.extend(settled);
            }
            Err(failure) => round.troubles.push(failure.to_string()),
        }
        match machines {
            Ok(machines) => {
                round.remarks = self.actuator.remarks();
                self.memory.are_listed(now, &machines, self.scaler.expected(false));
                self.known = Some(Known { machines, at: now, is_new: true });
            }
            Err(failure) => {
                round.troubles.push(failure.to_string());
                self.known = None;
            }
        }
    }

    /// Decides by the latest list of machines, and acts.
    async fn judge(&mut self, now: Now, until: Instant, known: &mut Known, round: &mut Round) {
        let age = now.at.saturating_sub(known.at);
        if age > self.scaler.rules().stale_after.max(self.patience.saturating_mul(PATIENCES_KNOWN)) {
            let why = format!("the provider has not told of its machines for {} s", age.as_secs());
            round.troubles.push(why);
            return;
        }
        let members = match self.balancer.members() {
            Ok(members) => members,
            Err(why) => return round.troubles.push(why),
        };
        if std::mem::take(&mut known.is_new) {
            self.absent.look(now.at, &known.machines, &members);
        }
        let machines = &known.machines[..];
        let park = self.meet(now.at, machines, &members, &mut round.troubles);
        if !park.is_empty() {
            let creating = Rc::clone(&self.creating);
            let number = self.give(Orders { at: now.at, park, creating, ..Orders::default() });
            self.errands.await_orders(number, until).await;
            self.note_carried(now.at, None, round);
        }
        let members = match self.balancer.members() {
            Ok(members) => members,
            Err(why) => return round.troubles.push(why),
        };
        round.troubles.extend(self.balancer.troubles());
        self.recalled.look(now.at, &members, self.scaler.rules().replace_after);
        round.servers = self.servers(now, machines, &members);
        self.scaler.observe(now.at, &round.sample);
        for (name, observation) in self.balancer.observations() {
            let server = round.servers.iter().find(|server| server.name == name);
            self.scaler.learn(server.and_then(|server| server.flavour.as_ref()), &observation);
        }
        self.scaler.set_failed_starts(self.failing.failures());
        let mut decision = self.scaler.decide(now, &round.servers);
        self.absent.decided(decision.wanted);
        self.failing.hold_back(now.at, &mut decision, &round.servers);
        match self.left_out(&members) {
            0 => {}
            servers => decision.alarms.push(Alarm::LeftOut(servers)),
        }
        (self.decided, round.silent) = (Some(now.at), None);
        failing::wait_for_others(self.actuator.waits_to_create(), &mut decision);
        if self.acts && self.actuator.leads().is_ok() {
            let (told, number) = self.act(now.at, machines, &decision, &mut round.troubles);
            round.done.add(told);
            if let Some(number) = number {
                self.errands.await_orders(number, until).await;
            }
            let own = self.note_carried(now.at, number, round);
            let is_under_way = number.is_some_and(|number| self.errands.is_under_way(number));
            round.carried_out = is_under_way || [told, own].iter().any(|done| *done != Done::default());
        }
        round.decision = Some(decision);
        // What was decided is under way: now there is time for it.
        if self.turn.has_come(now.wall_s, self.scaler.rules()) {
            self.scaler.refit();
        }
    }

    /// What is to be said if nothing can be decided now either.
    fn silence(&mut self, now: Duration) -> Option<Alarm> {
        let span = now.saturating_sub(*self.decided.get_or_insert(now));
        (span > self.scaler.rules().stale_after).then_some(Alarm::Silent(span))
    }
}
