//! The balancer of a turn: one process, or an active and a passive one, each with keepalived.

use std::fs;
use std::net::{Ipv4Addr, SocketAddr};
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use weir_config::lab::{Case, Loss, PairSetup, Rival};

use super::keepalived;
use super::rivals::{self, Program};
use super::stage::{Family, Network, Place, Process, SHARED, Stop, fresh};
use super::turn::{Ring, TurnError};

/// Balancer of a turn, which ends when this is dropped.
#[derive(Debug)]
pub(crate) struct Balancers {
    /// Address that clients use.
    pub(crate) address: SocketAddr,
    /// Active balancer; `None` = killed.
    active: Option<Process>,
    /// Other processes of a pair: the passive balancer and both keepaliveds.
    others: Vec<Process>,
    /// Servers that the balancer has started, which end after it.
    _fleet: Option<Family>,
}

/// Name of the directory of the active balancer.
pub(crate) const ACTIVE: &str = "balancer";

/// Maximum time until a pair has settled. Usually it takes one or two seconds, but longer on a busy machine.
const SETTLE_MAX: Duration = Duration::from_secs(20);

impl Balancers {
    /// Returns the ids of all its processes.
    pub(crate) fn members(&self) -> Vec<u32> {
        self.active.iter().chain(&self.others).flat_map(Process::members).collect()
    }

    /// Makes the active balancer reload its configuration.
    pub(crate) fn reload(&self, rival: &Rival) {
        if let (Some(active), Some(signal)) = (&self.active, rivals::reload_signal(rival.product)) {
            active.signal(signal);
        }
    }

    /// Takes its machine or its program from the active balancer of a pair, as the case requires.
    pub(crate) fn lose(&mut self, loss: Loss, network: &Network) -> Result<(), String> {
        match loss {
            Loss::Machine => network.plug(Place::Balancer, false),
            Loss::Program => {
                self.active = None;
                Ok(())
            }
        }
    }
}

impl Ring<'_> {
    /// Returns the address on which balancers listen, and the address that clients use. Over loopback, the
    /// port differs each time.
    pub(crate) fn front(&self) -> std::io::Result<(SocketAddr, SocketAddr)> {
        let setup = &self.scenario.balancer;
        let own = self.network.address(Place::Balancer, setup.port)?;
        Ok(match setup.pair {
            None => (own, own),
            // The passive balancer does not have the shared address yet, so it must listen on any address.
            Some(_) => ((Ipv4Addr::UNSPECIFIED, own.port()).into(), (SHARED, own.port()).into()),
        })
    }

    /// Starts the balancer of a rival and waits until it answers.
    pub(crate) fn start(
        &mut self,
        case: &Case,
        rival: &Rival,
        program: &Program,
        stop: Stop<'_>,
    ) -> Result<Balancers, TurnError> {
        let (bind, address) = self
            .front()
            .map_err(|cause| TurnError::Failed(format!("an address for {}: {cause}", rival.name)))?;
        // The readiness check needs a complete response from a server. It speaks plain HTTP, so a TLS
        // listener is checked for a connection only.
        let is_plain = !self.scenario.balancer.tls_in;
        let path = is_plain.then_some(if case.method == "GET" { case.path.as_str() } else { "/" });
        self.forget_rules().map_err(TurnError::Failed)?;
        let Some(pair) = self.scenario.balancer.pair.as_ref() else {
            let fleet = rival.fleet.as_ref().map(|_| Family::begin(&mut self.ledger)).transpose();
            let fleet = fleet.map_err(|cause| TurnError::Failed(format!("the ledger: {cause}")))?;
            let active = self.start_one((Place::Balancer, ACTIVE), bind, case, rival, program)?;
            // From here on, all started processes end with this value, also after an error.
            let mut balancers =
                Balancers { address, active: Some(active), others: Vec::new(), _fleet: fleet };
            if let Some(active) = &mut balancers.active {
                let client = (&self.network, Place::Client);
                active.wait_ready(address, path, client, stop).map_err(TurnError::Rival)?;
            }
            return Ok(balancers);
        };
        self.network.plug(Place::Balancer, true).map_err(TurnError::Failed)?;
        self.network.take_shared();
        let mut active = self.start_one((Place::Balancer, ACTIVE), bind, case, rival, program)?;
        let mut passive = self.start_one((Place::Spare, "spare"), bind, case, rival, program)?;
        let client = (&self.network, Place::Client);
        let own = self.network.address(Place::Spare, bind.port());
        let own = own.map_err(|cause| TurnError::Failed(format!("the passive one: {cause}")))?;
        passive.wait_ready(own, path, client, stop).map_err(TurnError::Rival)?;
        let keepers = self.keep(pair, (&active, &passive), stop).map_err(TurnError::Failed)?;
        active.wait_ready(address, path, (&self.network, Place::Client), stop).map_err(TurnError::Rival)?;
        let others = std::iter::once(passive).chain(keepers).collect();
        Ok(Balancers { address, active: Some(active), others, _fleet: None })
    }

    /// Starts keepalived for both balancers and waits until only the active one has the address.
    fn keep(
        &mut self,
        pair: &PairSetup,
        of: (&Process, &Process),
        stop: Stop<'_>,
    ) -> Result<Vec<Process>, String> {
        let program = keepalived::find(pair.program.as_deref())?;
        let mut keepers = Vec::new();
        for (place, balancer) in [(Place::Balancer, of.0), (Place::Spare, of.1)] {
            let name = if place == Place::Spare { "keepalived-spare" } else { "keepalived" };
            let directory = fresh(&self.directory.join(name))?;
            let path = directory.join("keepalived.conf");
            fs::write(&path, keepalived::config(place, pair.interval.duration(), balancer.pid()))
                .map_err(|cause| format!("{}: {cause}", path.display()))?;
            let mut command = Command::new(&program.path);
            command.args(keepalived::arguments(&directory)).current_dir(&directory);
            let at = (&self.network, place);
            keepers.push(Process::start(name, command, &directory, at, &mut self.ledger)?);
        }
        let until = Instant::now() + SETTLE_MAX;
        while !self.network.has_shared(Place::Balancer) || self.network.has_shared(Place::Spare) {
            if stop() {
                return Err("stopped while keepalived settled".to_owned());
            }
            if Instant::now() > until {
                let said: Vec<String> = keepers.iter().map(Process::last_words).collect();
                return Err(format!("keepalived does not settle: {}", said.join("\n")));
            }
            thread::sleep(Duration::from_millis(20));
        }
        Ok(keepers)
    }

    /// Starts a balancer with a directory of this name.
    fn start_one(
        &mut self,
        (place, name): (Place, &str),
        bind: SocketAddr,
        case: &Case,
        rival: &Rival,
        program: &Program,
    ) -> Result<Process, TurnError> {
        let failed = TurnError::Failed;
        if rival.product.is_kernel() && !self.network.is_apart() {
            return Err(failed(format!("{} would give its rules to all of this machine", rival.name)));
        }
        if let Err(cause) = self.network.listen(place, bind) {
            return Err(TurnError::PortTaken(bind, cause));
        }
        let directory = self.network.directory(place, self.directory).join(name);
        self.network.fresh(place, &directory).map_err(failed)?;
        let Some(recipe) = self.recipe(case, rival, bind, &directory) else {
            return Err(failed(format!("{} is no balancer", rival.name)));
        };
        let files = std::iter::once((recipe.file, &recipe.config));
        for (name, text) in files.chain(recipe.others.iter().map(|(name, text)| (*name, text))) {
            self.network.write(place, &directory.join(name), text).map_err(failed)?;
        }
        let mut command = recipe.command(&program.path);
        command.current_dir(&directory);
        if rival.product.is_kernel() {
            self.told = Some((rival.product, program.path.clone()));
        }
        Process::start(&rival.name, command, &directory, (&self.network, place), &mut self.ledger)
            .map_err(TurnError::Rival)
    }

    /// Removes the rules that an earlier turn gave to the kernel. They remain after their process ends, and
    /// would then do the work of the next rival.
    fn forget_rules(&mut self) -> Result<(), String> {
        let Some((product, program)) = &self.told else { return Ok(()) };
        for (program, arguments) in rivals::forgetting(*product, program) {
            self.network.run_within(Place::Balancer, &program, arguments).map_err(|cause| {
                format!("rules of {} that were there before could not be taken away: {cause}", product.name())
            })?;
        }
        self.told = None;
        Ok(())
    }
}
