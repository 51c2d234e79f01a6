//! The record of one server.

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

/// One server in the control plane.
#[derive(Debug)]
pub(in crate::control) struct ServerRecord {
    /// Specification, with the changes made at runtime.
    pub(in crate::control) spec: EffectiveServer,
    /// State that workers see.
    pub(in crate::control) state: Arc<ServerState>,
    pub(in crate::control) health: HealthRecord,
    pub(in crate::control) requests: RateMeter,
    pub(in crate::control) active: LevelMeter,
    /// Check task; `None` = no checks, or not started yet.
    pub(in crate::control) check: Option<Task>,
    /// Agent task; `None` = no agent, or not started yet.
    pub(in crate::control) agent: Option<Task>,
    /// Slow start of the server.
    pub(super) rise: Rise,
    /// Measured weight, if the weight is measured.
    pub(in crate::control) found_weight: FoundWeight,
    /// Reason why TLS to the server cannot be set up. The server then counts as unreachable, because
    /// plaintext instead must never happen.
    tls_fault: Option<String>,
    /// Last contribution to the pool's counts.
    pub(super) counted: Option<Counted>,
}

/// Contribution of a server to its pool's counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Counted {
    pub(super) backup: bool,
    pub(super) priority: u16,
    /// Set when the server would get requests if it were not ejected.
    pub(super) present: bool,
    pub(super) ejected: bool,
    /// Set when the server takes requests of clients that are bound to it. It is not counted, but workers
    /// must learn of a change.
    pub(super) keeps_clients: bool,
}

impl Counted {
    /// Returns the server's tier, ordered as tiers take over.
    pub(super) fn tier(self) -> (bool, u16) {
        (self.backup, self.priority)
    }
}

impl ServerRecord {
    /// Creates a server without history and without an endpoint. [`ServerRecord::locate`] must follow.
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

    /// Returns true if the server may be selected.
    pub(in crate::control) fn is_eligible(&self) -> bool {
        self.is_wanted() && self.health.is_up() && !self.health.is_ejected()
    }

    /// Returns true if the server takes requests of clients that are bound to it. It does so even when
    /// drained or with weight 0.
    fn keeps_clients(&self) -> bool {
        self.admin() != AdminState::Maintenance && self.health.is_up() && !self.health.is_ejected()
    }

    /// Returns true if the operator and the agent want the server to get requests.
    fn is_wanted(&self) -> bool {
        self.admin() == AdminState::Ready && self.spec.spec.weight > Weight::ZERO && self.agent_percent() > 0
    }

    /// Returns true if the agent, and not the operator, keeps the server out of rotation.
    pub(in crate::control) fn is_kept_out(&self) -> bool {
        let is_out = self.admin() != AdminState::Ready || self.agent_percent() == 0;
        self.spec.state == AdminState::Ready && is_out
    }

    /// Returns the stricter of the states that the operator and the agent want.
    pub(in crate::control) fn admin(&self) -> AdminState {
        let wish = self.health.agent().map_or(AgentWish::Ready, |agent| agent.state.wish());
        match (self.spec.state, wish) {
            (AdminState::Maintenance, _) | (_, AgentWish::Maintenance) => AdminState::Maintenance,
            (AdminState::Drain, _) | (_, AgentWish::Drain) => AdminState::Drain,
            (AdminState::Ready, AgentWish::Ready) => AdminState::Ready,
        }
    }

    /// Returns the weight: as configured, changed at runtime, or measured.
    pub(in crate::control) fn weight(&self) -> Weight {
        let spec = &self.spec.spec;
        if spec.auto_weight.is_some() { self.found_weight.weight() } else { spec.weight }
    }

    /// Returns the portion of the weight that counts. Always the whole if the algorithm does not support a
    /// weight that changes continuously.
    fn portion(&self, plan: &PoolPlan) -> Portion {
        match plan.algorithm.weighs_moving_portions() {
            true => self.rise.portion().of(Portion::percent(self.agent_percent())),
            false => Portion::WHOLE,
        }
    }

    fn agent_percent(&self) -> u32 {
        self.health.agent().map_or(100, |agent| agent.state.weight_percent())
    }

    /// Returns the maximum number of concurrent requests from the agent or the config.
    pub(in crate::control) fn connections_max(&self) -> Option<u32> {
        let agent = self.health.agent().and_then(|agent| agent.state.connections_max());
        agent.unwrap_or(self.spec.spec.connections_max)
    }

    /// Returns the maximum number of concurrent requests at present. It is lower during slow start and while
    /// the server is half open.
    pub(in crate::control) fn limit(&self) -> Option<u32> {
        let risen = self.connections_max().map(|max| self.rise.portion().of_limit(max));
        risen.into_iter().chain(self.state.probe_limit()).min()
    }

    /// Returns the server's contribution to its pool's counts.
    pub(super) fn count(&self) -> Counted {
        Counted {
            backup: self.spec.spec.backup,
            priority: self.spec.spec.priority,
            present: self.is_wanted() && self.health.is_up(),
            ejected: self.health.is_ejected(),
            keeps_clients: self.keeps_clients(),
        }
    }

    /// Updates the slow start. Returns true if the weight will rise further.
    pub(super) fn look_at_rise(&mut self, plan: &PoolPlan, now: Instant) -> bool {
        let is_up = self.is_eligible();
        self.rise.look(is_up, plan.slow_start.as_ref(), now);
        plan.slow_start.is_some() && self.rise.goes_on()
    }

    /// Returns the server as a candidate for the roster.
    pub(super) fn candidate(&self, rank: usize, plan: &PoolPlan) -> Candidate {
        let spec = &self.spec.spec;
        if spec.auto_weight.is_some() {
            // Starts the measurement of service times.
            self.state.service_times();
        }
        if !self.health.is_half_open() && self.state.probes_wanted() > 0 {
            self.state.want_probes(0);
        }
        // The measured limit has no effect without a limit here.
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

    /// Returns the server's address if it is the only address of a host name.
    pub(super) fn address_of_name(&self) -> Option<SocketAddr> {
        match (&self.spec.spec.address, &*self.state.endpoint()) {
            (ServerAddress::Named(_), Endpoint::Inet(addresses)) => match addresses[..] {
                [only] => Some(only),
                _ => None,
            },
            _ => None,
        }
    }

    /// Returns the server's name and address, for messages.
    pub(in crate::control) fn label(&self) -> String {
        let (name, address) = (&self.spec.spec.name, address_of(&self.spec).to_string());
        // A server without a configured name has its address as its name.
        if name.as_str() == address { format!("server {name}") } else { format!("server {name} ({address})") }
    }

    /// Sets the endpoint from the spec.
    pub(super) fn locate(&mut self, user: &NameUser, tls: Option<&ClientTls>, ground: &mut Ground<'_>) {
        self.secure(tls);
        let endpoint = ground.names.enter(&self.spec.spec.address, self.state.uid, user);
        self.reach(endpoint, ground.now);
    }

    /// Sets the endpoint. Returns true if it has changed.
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

    /// Sets up TLS to the server again.
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

/// Returns the address of a server for display and for algorithms. For a server that stands for one address
/// of a host name, this is that address.
pub(in crate::control) fn address_of(server: &EffectiveServer) -> ServerAddress {
    match (&server.at, &server.spec.address) {
        (Some(at), ServerAddress::Named(host)) => ServerAddress::Inet(SocketAddr::new(at.ip, host.port)),
        (_, address) => address.clone(),
    }
}

/// Returns the name that TLS sends and verifies, unless the config sets another: the host name or the IP
/// address. For a Unix socket it is `localhost`.
pub(in crate::control) fn tls_host(address: &ServerAddress) -> String {
    match address {
        ServerAddress::Inet(address) => address.ip().to_string(),
        ServerAddress::Named(host) => host.host.to_string(),
        ServerAddress::Unix(_) => "localhost".to_owned(),
    }
}

/// Returns a unique number for a server; numbers are never reused in this process.
fn next_uid() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    NEXT.fetch_add(1, Ordering::Relaxed)
}
