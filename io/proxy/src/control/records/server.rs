use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tokio::time::Instant;
use weir_balance::{Candidate, Portion};
use weir_config::plan::PoolPlan;
use weir_control::{AdminState, EffectiveServer};
use weir_model::{ServerAddress, Weight};
use weir_net::tls::ClientTls;
use weir_wire::agent::AgentWish;

use super::{FoundWeight, Ground, HealthRecord, LevelMeter, RateMeter, Rise};
use crate::control::names::NameUser;
use crate::control::task::Task;
use crate::state::{Endpoint, ServerState};

/// One server, as the control plane knows it.
#[derive(Debug)]
pub(in crate::control) struct ServerRecord {
    /// With what was changed at runtime.
    pub(in crate::control) spec: EffectiveServer,
    /// What workers see.
    pub(in crate::control) state: Arc<ServerState>,
    pub(in crate::control) health: HealthRecord,
    pub(in crate::control) requests: RateMeter,
    pub(in crate::control) active: LevelMeter,
    /// Checks it; `None` = nothing is to be checked, or not started yet.
    pub(in crate::control) check: Option<Task>,
    /// Asks its agent; `None` = it has none, or not started yet.
    pub(in crate::control) agent: Option<Task>,
    /// How its weight rises.
    pub(super) rise: Rise,
    /// Its weight, where that is found by measurement.
    pub(in crate::control) found_weight: FoundWeight,
    /// TLS cannot be set up towards it. Plaintext instead must never happen: it counts as unreachable.
    tls_fault: Option<String>,
    /// As the pool has counted it.
    pub(super) counted: Option<Counted>,
}

/// What a server adds to its pool's counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Counted {
    pub(super) backup: bool,
    pub(super) priority: u16,
    /// It would get requests if it were not ejected.
    pub(super) present: bool,
    pub(super) ejected: bool,
    /// It takes requests of clients that are bound to it. Not counted, but workers must learn of it.
    pub(super) keeps_clients: bool,
}

impl Counted {
    /// Its tier, in the order in which tiers take over.
    pub(super) fn tier(self) -> (bool, u16) {
        (self.backup, self.priority)
    }
}

impl ServerRecord {
    /// A server that has done nothing yet and is nowhere yet: [`ServerRecord::locate`] comes next.
    pub(super) fn new(
        spec: EffectiveServer,
        slot: usize,
        health: HealthRecord,
        threads: usize,
        now: Instant,
    ) -> Self {
        let address = address_of(&spec).to_string();
        let name = spec.spec.name.clone();
        let state = ServerState::new(next_uid(), name, address, slot, Endpoint::Unresolved, threads);
        Self {
            spec,
            state: Arc::new(state),
            health,
            requests: RateMeter::starting(now),
            active: LevelMeter::default(),
            check: None,
            agent: None,
            rise: Rise::default(),
            found_weight: FoundWeight::default(),
            tls_fault: None,
            counted: None,
        }
    }

    /// Whether it may be chosen.
    pub(in crate::control) fn is_eligible(&self) -> bool {
        self.is_wanted() && self.health.is_up() && !self.health.is_ejected()
    }

    /// Whether it takes requests of clients that are bound to it: drained or without weight it still does.
    fn keeps_clients(&self) -> bool {
        self.admin() != AdminState::Maintenance && self.health.is_up() && !self.health.is_ejected()
    }

    /// Whether the operator wants it to get requests.
    fn is_wanted(&self) -> bool {
        self.admin() == AdminState::Ready && self.spec.spec.weight > Weight::ZERO && self.agent_percent() > 0
    }

    /// Whether its agent, and not the operator, wants it to get nothing.
    pub(in crate::control) fn is_kept_out(&self) -> bool {
        let is_out = self.admin() != AdminState::Ready || self.agent_percent() == 0;
        self.spec.state == AdminState::Ready && is_out
    }

    /// What the operator wants, or its agent, if that wants less.
    pub(in crate::control) fn admin(&self) -> AdminState {
        let wish = self.health.agent().map_or(AgentWish::Ready, |agent| agent.state.wish());
        match (self.spec.state, wish) {
            (AdminState::Maintenance, _) | (_, AgentWish::Maintenance) => AdminState::Maintenance,
            (AdminState::Drain, _) | (_, AgentWish::Drain) => AdminState::Drain,
            (AdminState::Ready, AgentWish::Ready) => AdminState::Ready,
        }
    }

    /// Its share: as configured, changed at runtime, or found.
    pub(in crate::control) fn weight(&self) -> Weight {
        let spec = &self.spec.spec;
        if spec.auto_weight.is_some() { self.found_weight.weight() } else { spec.weight }
    }

    /// What counts of its weight, where the algorithm bears that this changes all the time.
    fn portion(&self, plan: &PoolPlan) -> Portion {
        match plan.algorithm.weighs_moving_portions() {
            true => self.rise.portion().of(Portion::percent(self.agent_percent())),
            false => Portion::WHOLE,
        }
    }

    fn agent_percent(&self) -> u32 {
        self.health.agent().map_or(100, |agent| agent.state.weight_percent())
    }

    /// Requests at once, as the config or its agent has it.
    pub(in crate::control) fn connections_max(&self) -> Option<u32> {
        let agent = self.health.agent().and_then(|agent| agent.state.connections_max());
        agent.unwrap_or(self.spec.spec.connections_max)
    }

    /// Requests at once, fewer while it rises after it has come up, and while it is half open.
    pub(in crate::control) fn limit(&self) -> Option<u32> {
        let risen = self.connections_max().map(|max| self.rise.portion().of_limit(max));
        risen.into_iter().chain(self.state.probe_limit()).min()
    }

    /// What it adds to its pool's counts.
    pub(super) fn count(&self) -> Counted {
        Counted {
            backup: self.spec.spec.backup,
            priority: self.spec.spec.priority,
            present: self.is_wanted() && self.health.is_up(),
            ejected: self.health.is_ejected(),
            keeps_clients: self.keeps_clients(),
        }
    }

    /// Works out how far its weight has risen. Returns whether it is to rise further.
    pub(super) fn look_at_rise(&mut self, plan: &PoolPlan, now: Instant) -> bool {
        let is_up = self.is_eligible();
        self.rise.look(is_up, plan.slow_start.as_ref(), now);
        plan.slow_start.is_some() && self.rise.goes_on()
    }

    /// As it is put up for choice.
    pub(super) fn candidate(&self, rank: usize, plan: &PoolPlan) -> Candidate {
        let spec = &self.spec.spec;
        if spec.auto_weight.is_some() {
            // Measured from now on.
            self.state.service_times();
        }
        if !self.health.is_half_open() && self.state.probes_wanted() > 0 {
            self.state.want_probes(0);
        }
        // Without a limit here the measured one would not hold.
        let measured_max = plan.concurrency.as_ref().map(|rule| rule.max);
        Candidate {
            slot: self.state.slot,
            rank: rank as u32,
            address: address_of(&self.spec),
            weight: self.weight(),
            name_key: plan.hash.options.points.name_key(spec.name.as_str()),
            portion: self.portion(plan),
            priority: spec.priority,
            backup: spec.backup,
            is_local: plan.zone.is_none() || spec.zone == plan.zone,
            eligible: self.is_eligible(),
            half_open: self.health.is_half_open(),
            keeps_clients: self.keeps_clients(),
            connections_max: self.limit().into_iter().chain(measured_max).min(),
            load: Arc::clone(&self.state.load),
        }
    }

    /// Where it is, if that is one address of a host name.
    pub(super) fn address_of_name(&self) -> Option<SocketAddr> {
        match (&self.spec.spec.address, &*self.state.endpoint()) {
            (ServerAddress::Named(_), Endpoint::Inet(addresses)) => match addresses[..] {
                [only] => Some(only),
                _ => None,
            },
            _ => None,
        }
    }

    /// Its name and address, for messages.
    pub(in crate::control) fn label(&self) -> String {
        let (name, address) = (&self.spec.spec.name, address_of(&self.spec).to_string());
        // A server without a name of its own goes by its address.
        if name.as_str() == address { format!("server {name}") } else { format!("server {name} ({address})") }
    }

    /// Puts it where its spec says.
    pub(super) fn locate(&mut self, user: &NameUser, tls: Option<&ClientTls>, ground: &mut Ground<'_>) {
        self.secure(tls);
        let endpoint = ground.names.enter(&self.spec.spec.address, self.state.uid, user);
        self.reach(endpoint, ground.now);
    }

    /// It can be reached there from now on. True if that is somewhere else than before.
    pub(in crate::control) fn reach(&mut self, endpoint: Endpoint, now: Instant) -> bool {
        let endpoint = if self.tls_fault.is_some() { Endpoint::Unresolved } else { endpoint };
        let why = match (&self.tls_fault, &endpoint) {
            (Some(fault), _) => Some(fault.clone()),
            (None, Endpoint::Unresolved) => Some("name not resolved".to_owned()),
            (None, _) => None,
        };
        self.health.set_unreachable(why, now);
        let moves = *self.state.endpoint() != endpoint;
        if moves {
            self.state.move_to(endpoint);
        }
        moves
    }

    /// Sets TLS towards it up anew.
    pub(super) fn secure(&mut self, tls: Option<&ClientTls>) {
        let connector = tls.map(|tls| tls.connector(&tls_host(&self.spec.spec.address))).transpose();
        match connector {
            Ok(connector) => {
                self.tls_fault = None;
                if connector.is_some() || self.state.connector().is_some() {
                    self.state.set_connector(connector);
                }
            }
            Err(error) => self.tls_fault = Some(error.to_string()),
        }
    }
}

/// Where a server is, as people and algorithms see it: its address; of one that stands for one address of a host name, that address.
pub(in crate::control) fn address_of(server: &EffectiveServer) -> ServerAddress {
    match (&server.at, &server.spec.address) {
        (Some(at), ServerAddress::Named(host)) => ServerAddress::Inet(SocketAddr::new(at.ip, host.port)),
        (_, address) => address.clone(),
    }
}

/// The name that TLS sends and verifies, unless the config has another: the host name, or the address. A Unix socket
/// has neither.
pub(in crate::control) fn tls_host(address: &ServerAddress) -> String {
    match address {
        ServerAddress::Inet(address) => address.ip().to_string(),
        ServerAddress::Named(host) => host.host.to_string(),
        ServerAddress::Unix(_) => "localhost".to_owned(),
    }
}

/// A number for a server that no other has had in this process.
fn next_uid() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    NEXT.fetch_add(1, Ordering::Relaxed)
}
