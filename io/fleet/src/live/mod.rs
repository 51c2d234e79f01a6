//! The control loop of a fleet: it measures the load balancer, lets `logic/scale` decide, and calls the
//! provider.
//!
//! The caller runs one [`round`](Live::round) after the other at any interval. Time is an argument, so tests
//! can use virtual time. A slow provider delays no round: its calls continue between rounds, which use the
//! latest list of machines.
//!
//! A server is added to the load balancer when its machine runs, and gets requests when its health checks
//! pass. It is drained before its machine is stopped. If the machines cannot be listed, no decision is made,
//! because missing information does not justify a change.

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

/// The load balancer of the fleet's servers. It may also balance other servers, which it does not report
/// here.
pub trait Balancer {
    /// Returns the present measurements.
    fn sample(&self) -> Sample;

    /// Returns the performance of each server since the previous call, if capacities are learned.
    fn observations(&self) -> Vec<(ServerName, Observation)> {
        Vec::new()
    }

    /// Returns the state of the fleet's servers. An error must never appear as an empty list.
    fn members(&self) -> Result<Vec<Member>, String>;

    /// Adds a server. It gets requests when its health checks pass, few at first.
    fn admit(&self, server: &ServerName, address: SocketAddr) -> Result<(), String>;

    /// Returns problems with earlier calls, for operators.
    fn troubles(&self) -> Vec<String> {
        Vec::new()
    }

    /// Changes the address of a server.
    fn relocate(&self, server: &ServerName, address: SocketAddr) -> Result<(), String>;

    /// Sends no new requests to a server, which finishes its present ones.
    fn drain(&self, server: &ServerName) -> Result<(), String>;

    /// Sends requests to a server again.
    fn recall(&self, server: &ServerName) -> Result<(), String>;

    /// Removes a server. With `force`, aborts its requests; otherwise fails if there are any.
    fn remove(&self, server: &ServerName, force: bool) -> Result<(), String>;
}

/// A server in the view of the load balancer.
#[derive(Debug, Clone, PartialEq)]
pub struct Member {
    /// Name of the server.
    pub server: ServerName,
    /// Address of the server.
    pub address: Option<SocketAddr>,
    /// Result of the health checks.
    pub health: Health,
    /// True if the server gets no new requests.
    pub draining: bool,
    /// Requests in progress.
    pub active: u64,
}

/// Result of a server's health checks.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Health {
    /// No result yet.
    Unknown,
    /// The checks pass; the server takes this share of its full load (slow start), 0 to 1.
    Up(f64),
    /// The checks pass or do not exist, but real traffic or the agent has temporarily excluded the server.
    Shunned,
    /// The checks fail.
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
    /// Maximum wait for the provider in a round.
    patience: Duration,
    balancer: B,
    /// Port of the servers, unless the provider chooses it.
    port: Option<u16>,
    memory: Memory,
    absent: Absent,
    failing: Failing,
    recalled: Recalled,
    turn: Turn,
    acts: bool,
    /// Time of the last decision, or of the first attempt.
    decided: Option<Duration>,
}

/// Default wait for the provider in a round, for rounds a second apart.
const PATIENCE: Duration = Duration::from_millis(500);
/// Minimum age limit of a list, in multiples of [`Live::patience`].
const PATIENCES_KNOWN: u32 = 4;

/// Actions of a round that the provider and the load balancer have accepted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Done {
    /// Created machines.
    pub created: u64,
    /// Stopped machines that were started.
    pub woken: u64,
    /// Drained servers, which get no new requests.
    pub drained: u64,
    /// Draining servers that get requests again.
    pub recalled: u64,
    /// Machines that were stopped, to be started later.
    pub stopped: u64,
    /// Deleted machines.
    pub deleted: u64,
    /// Replaced servers, which stayed unhealthy. Their machines are also counted as deleted.
    pub replaced: u64,
    /// Aborted requests.
    pub cut: u64,
}

/// Result of a round.
#[derive(Debug)]
pub struct Round {
    /// Decision; `None` = the machines or members could not be listed.
    pub decision: Option<Decision>,
    /// Alarm if there was no decision for longer than the maximum age of measurements.
    pub silent: Option<Alarm>,
    /// Measurements.
    pub sample: Sample,
    /// Servers on which the decision is based.
    pub servers: Vec<Server>,
    /// Results of this round, and of earlier orders that finished.
    pub done: Done,
    /// True if at least a part of this decision is executed or in progress.
    pub carried_out: bool,
    /// Actions with a formerly unknown result, and their results.
    pub settled: Vec<Settled>,
    /// Failures, for operators. Later rounds repeat the failed actions if they are still wanted.
    pub troubles: Vec<String>,
    /// Fields in the list of machines that violate the contract.
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
    /// Creates the loop in the process that holds the lease. `port` applies to machines for which the
    /// provider chooses no port.
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

    /// Fits forecasts at times that depend on the fleet's name, so that the fits of many fleets do not
    /// coincide.
    #[must_use]
    pub fn spread(mut self, fleet: &str) -> Self {
        self.turn = Turn::of(fleet);
        self
    }

    /// Sets the maximum wait for the provider in a round: half of the interval between rounds.
    #[must_use]
    pub fn patience(mut self, patience: Duration) -> Self {
        self.patience = patience;
        self
    }

    /// Enables or disables the execution of decisions. In both cases, running machines stay in the load
    /// balancer and actions in progress continue.
    pub fn set_acting(&mut self, acts: bool) {
        self.acts = acts;
    }

    /// Returns the scaler.
    pub fn scaler(&self) -> &Scaler {
        &self.scaler
    }

    /// Returns the scaler for changes, such as a fixed number of servers.
    pub fn scaler_mut(&mut self) -> &mut Scaler {
        &mut self.scaler
    }

    /// Returns the actuator, for status reports.
    pub fn actuator(&self) -> &Actuator {
        &self.actuator
    }

    /// Waits for another future while provider calls continue.
    pub async fn during<T>(&mut self, other: impl Future<Output = T>) -> T {
        self.errands.during(other).await
    }

    /// Waits for all orders, without a limit. Call it before dropping, which would cancel them.
    pub async fn finish(&mut self) {
        self.errands.finish().await;
    }

    /// Runs one round: measures, decides and acts.
    pub async fn round(&mut self, now: Now) -> Round {
        let until = Instant::now() + self.patience;
        let mut round = Round {
            decision: None,
            silent: self.silence(now.at),
            // Measures before the wait for the provider, so that the interval of a rate is known.
            sample: self.balancer.sample(),
            servers: Vec::new(),
            done: Done::default(),
            carried_out: false,
            settled: Vec::new(),
            troubles: Vec::new(),
            remarks: Vec::new(),
        };
        // A list that finished since the last round applies until a newer one arrives.
        let late = self.errands.listed();
        self.errands.list(&self.actuator);
        self.errands.await_list(until).await;
        // Records new machines before a list names them.
        self.note_carried(now.at, None, &mut round);
        for listed in late.into_iter().chain(self.errands.listed()) {
            self.take_list(now.at, listed, &mut round);
        }
        // The wait may have taken long. If another process leads by now, the load balancer must not be
        // changed.
        if let Err(why) = self.actuator.leads() {
            round.troubles.push(why.to_string());
            return round;
        }
        let Some(mut known) = self.known.take() else { return round };
        self.judge(now, until, &mut known, &mut round).await;
        self.known = Some(known);
        round
    }

    /// Processes the result of a list.
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
                    // A list may omit the machine for a while, and it must not be created again.
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

    /// Decides from the latest list of machines, and acts.
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
        // The decision is in progress, so a fit delays nothing.
        if self.turn.has_come(now.wall_s, self.scaler.rules()) {
            self.scaler.refit();
        }
    }

    /// Returns the alarm for this round if it makes no decision either.
    fn silence(&mut self, now: Duration) -> Option<Alarm> {
        let span = now.saturating_sub(*self.decided.get_or_insert(now));
        (span > self.scaler.rules().stale_after).then_some(Alarm::Silent(span))
    }
}
